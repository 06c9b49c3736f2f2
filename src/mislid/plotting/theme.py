"""The style of all pictures: colours, matplotlib's settings, axes, labels and files."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mislid._formatting import shown, visible
from mislid._validation import as_number
from mislid.errors import MissingPackageError, ProblemError
from mislid.io import new_place, write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GREY, RULE, PAPER = "#1f2937", "#6b7280", "#d5dae1", "#ffffff"
# The answer and the others; in contrast, what they are compared with, and what is wrong.
BEST, REST, CONTRAST = "#2a7f9e", "#94a9b8", "#d1495b"
# Of lines in one picture; the first is what the picture is about.
LINES = (BEST, "#e08e45", GREY, "#7a5195", "#3d8361", "#b23a48")
# Inches across, and letters of a label.
WIDTH, LONGEST = 9.2, 24
# A linear axis hides what is more than this many times smaller than the largest.
SPREAD = 30.0
# To its own types, matplotlib's settings are not a dict of texts.
_STYLE: Any = {
    "font.size": 9.0,
    "text.color": INK,
    "text.parse_math": False,  # a label may contain dollars
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.facecolor": "none",
    "axes.titlecolor": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8.0,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "figure.facecolor": "none",
    "figure.titlesize": 11.0,
    "figure.titleweight": "bold",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "mislid",
}


def require_matplotlib(what: str = "a picture") -> None:
    """Refuse to go on without matplotlib; `what` needs it."""
    try:
        import matplotlib as mpl  # noqa: F401 - said before anything is computed
    except ImportError:
        raise MissingPackageError(
            f"{what} needs matplotlib (pip install 'mislid[plots]')"
        ) from None


def check_kind(value: object, kind: type, name: str, maker: str) -> None:
    """Refuse a value of another kind, and say what gives one.

    >>> check_kind("teas", dict, "teas", "dict()")
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: teas must be what dict() gives; got 'teas'
    """
    if not isinstance(value, kind):
        raise ProblemError(f"{name} must be what {maker} gives; got {shown(value)}")


def check_axes(axes: object) -> None:
    """Refuse what is not one axes of matplotlib."""
    require_matplotlib()
    from matplotlib.axes import Axes

    check_kind(axes, Axes, "axes", "Figure.add_subplot()")


@contextmanager
def drawing() -> Iterator[None]:
    """The style of pictures; browsers have the scripts that the fonts here lack."""
    require_matplotlib()
    from matplotlib import rc_context

    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure in inches, by default as wide as a page, which notebooks show."""
    require_matplotlib()
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that notebooks show without pyplot, with two dots per point of a screen."""

        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            dpi = round(self.dpi)
            return as_png(self, 2 * dpi), {"width": round(self.get_figwidth() * dpi)}

    return Picture(figsize=(width, height), layout="constrained")


def as_png(figure: Figure, dpi: int = 150) -> bytes:
    """A figure on white paper.

    Parameters
    ----------
    figure
        What to draw.
    dpi
        Dots per inch, 1 to 1000.

    Returns
    -------
    bytes
        The content of a PNG file.

    Raises
    ------
    ProblemError
        If it is no figure, or `dpi` is out of its range.
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> as_png(new_figure(1.0), dpi=20)[1:4]
    b'PNG'
    """
    _check_figure(figure)
    dots = as_number(dpi, "dpi", low=1, high=1000)
    return _rendered(figure, "png", dpi=dots, facecolor=PAPER, metadata={"Software": None})


def as_svg(figure: Figure) -> str:
    """A figure in vectors; text stays text."""
    text = _rendered(figure, "svg", metadata={"Date": None, "Creator": None}).decode()
    return text[text.index("<svg") :]


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as a .png or .svg file, whole or not at all.

    Parameters
    ----------
    figure
        As the functions of this package give it.
    path
        The file; one that exists is replaced.

    Raises
    ------
    FileFormatError
        If the name of the file does not end in .png or .svg.
    ProblemError
        If it is no figure, or `path` is a directory or in one that does not exist.
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save(new_figure(1.0), f"{folder}/empty.svg")
    ...     Path(folder, "empty.svg").read_text()[:4]
    '<svg'
    """
    _check_figure(figure)
    place = new_place(path, "path", ".png", ".svg")
    is_svg = place.suffix.lower() == ".svg"
    write_whole(place, as_svg(figure).encode() if is_svg else as_png(figure))


def _check_figure(figure: object) -> None:
    require_matplotlib()
    from matplotlib.figure import Figure

    check_kind(figure, Figure, "figure", "a function of mislid.plotting")


def _rendered(figure: Figure, form: str, **options: Any) -> bytes:
    content = io.BytesIO()
    with drawing():
        figure.savefig(content, format=form, **options)
    return content.getvalue()


def only_rows(axes: Axes, count: int) -> None:
    """Axes for this many rows, the first at the top, without a line to their left."""
    axes.set_ylim(count - 0.4, -0.6)
    axes.spines[["left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def scale(axes: Axes, direction: str, values: Iterable[float], room: float | None = 1.08) -> None:
    """A linear axis ("x" or "y") from 0, or a logarithmic one where values are far apart.

    It ends at `room` times the largest value; None leaves its end to matplotlib.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    shown = [value for value in values if 0.0 < value < float("inf")]
    low, high = min(shown, default=1.0), max(shown, default=1.0)
    axis, limit = getattr(axes, f"{direction}axis"), getattr(axes, f"set_{direction}lim")
    if high > SPREAD * low:
        axes.set(**{f"{direction}scale": "log"})
        few_decades = high < 1000.0 * low
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few_decades else (1.0,)))
        axis.set_minor_formatter(NullFormatter())
        if room is not None:
            limit(low / room**2, high * room**4)
    else:
        limit(0.0, None if room is None else room * high)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.7g}"))


def shorten(label: str, longest: int = LONGEST) -> str:
    """A label on one line that leaves room for the picture; its middle is left out.

    >>> shorten("compound number 33", 12)
    'compou…er 33'
    """
    line = visible(" ".join(label.split()))
    if len(line) <= longest:
        return line
    end = (longest - 1) // 2
    return f"{line[: longest - 1 - end]}…{line[-end:]}"
