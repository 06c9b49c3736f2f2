"""One look for all pictures: colours, matplotlib's settings, axes, labels and files."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
# What names of pictures end in.
ENDINGS = (".png", ".svg")
# Inches across, and letters of a label.
WIDTH, LONGEST = 9.2, 24
# Dots of a picture in one direction; matplotlib draws no more.
MOST_DOTS = 65_535
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
    """Refuse, in the name of what needs it, to go on without matplotlib."""
    try:
        import matplotlib as mpl  # noqa: F401 - said before anything is computed
    except ImportError:
        raise MissingPackageError(
            f"{what} needs matplotlib (pip install 'mislid[plots]')"
        ) from None


def refuse_others(value: Any, kind: type, name: str, maker: str) -> None:
    """Refuse what is not of this kind, and say what gives one.

    >>> refuse_others("teas", dict, "teas", "dict()")
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: teas must be what dict() gives; got 'teas'
    """
    if not isinstance(value, kind):
        raise ProblemError(f"{name} must be what {maker} gives; got {shown(value)}")


def refuse_other_lists(groups: Any, kind: type, rule: str) -> None:
    """Refuse what is not a dict of lists, each with at least one of this kind.

    >>> refuse_other_lists({"a": [1, 2], "b": []}, int, "groups must hold integers")
    Traceback (most recent call last):
    ...
    mislid.errors.ProblemError: groups must hold integers; got {'a': [1, 2], 'b': []}
    """
    lists = groups.values() if isinstance(groups, Mapping) else ()
    if not lists or not all(_is_list_of(kind, values) for values in lists):
        raise ProblemError(f"{rule}; got {shown(groups)}")


def _is_list_of(kind: type, values: Any) -> bool:
    is_list = isinstance(values, Sequence) and len(values) > 0
    return is_list and all(isinstance(value, kind) for value in values)


def refuse_other_axes(axes: Any) -> None:
    """Refuse what nothing can be drawn on; several axes are an array."""
    require_matplotlib()
    from matplotlib.axes import Axes

    refuse_others(axes, Axes, "axes", "Figure.add_subplot()")


@contextmanager
def drawing() -> Iterator[None]:
    """The look of pictures; scripts that the fonts here lack are no matter for a browser."""
    require_matplotlib()
    from matplotlib import rc_context

    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure of so many inches, by default as wide as a page; notebooks show it."""
    require_matplotlib()
    from mislid.plotting.picture import Picture

    return Picture(figsize=(width, height), layout="constrained")


def as_png(figure: Figure, dpi: int = 150) -> bytes:
    """A figure on white paper.

    Parameters
    ----------
    figure
        What to draw.
    dpi
        Dots per inch.

    Returns
    -------
    bytes
        The content of a PNG file.

    Raises
    ------
    ProblemError
        Where it is no figure, or `dpi` is less than 1 or gives more than 65,535 dots in a row.
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> as_png(new_figure(1.0), dpi=20)[1:4]
    b'PNG'
    """
    _refuse_other_figures(figure)
    most = MOST_DOTS / max(figure.get_size_inches())
    dots = as_number(dpi, "dpi", low=1, high=most)
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
        Where it goes. A file that is there is replaced.

    Raises
    ------
    FileFormatError
        Where the name of the file does not end in .png or .svg.
    ProblemError
        Where it is no figure, or `path` is a directory or in one that does not exist.
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
    _refuse_other_figures(figure)
    place = new_place(path, "path", *ENDINGS)
    is_svg = place.suffix.lower() == ".svg"
    write_whole(place, as_svg(figure).encode() if is_svg else as_png(figure))


def _refuse_other_figures(figure: Any) -> None:
    require_matplotlib()
    from matplotlib.figure import Figure

    refuse_others(figure, Figure, "figure", "a function of mislid.plotting")


def _rendered(figure: Figure, form: str, **options: Any) -> bytes:
    content = io.BytesIO()
    with drawing():
        figure.savefig(content, format=form, **options)
    return content.getvalue()


def tidy(axes: Axes) -> None:
    """Leave out the lines that say nothing, on axes that were not made by `new_figure`."""
    axes.spines[["top", "right"]].set_visible(False)


def only_rows(axes: Axes, count: int) -> None:
    """Axes with so many rows of things, the first at the top, and no line to their left."""
    axes.set_ylim(count - 0.4, -0.6)
    axes.spines[["left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def scale(axes: Axes, direction: str, values: Iterable[float], room: float | None = 1.08) -> None:
    """A linear axis ("x" or "y") from 0, or a logarithmic one where values are far apart.

    It goes on for `room` times the largest value; None leaves its end to matplotlib.
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
    """A label on one line that leaves room for the picture; beginning and end tell most.

    >>> shorten("compound number 33", 12)
    'compou…er 33'
    """
    line = visible(" ".join(label.split()))
    if len(line) <= longest:
        return line
    end = (longest - 1) // 2
    return f"{line[: longest - 1 - end]}…{line[-end:]}"
