"""The style of all pictures: colours, matplotlib's settings, axes, labels and files."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mislid._formatting import visible
from mislid._validation import as_number
from mislid.errors import MissingPackageError
from mislid.io import new_place, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, GREY, RULE, PAPER = "#1f2937", "#6b7280", "#d5dae1", "#ffffff"
# Colours of the answer and of the other arms; CONTRAST marks references and errors.
BEST, REST, CONTRAST = "#2a7f9e", "#94a9b8", "#d1495b"
# Colours of lines in one picture; the first is for its subject.
LINES = (BEST, "#e08e45", GREY, "#7a5195", "#3d8361", "#b23a48")
# Width of a figure in inches, and most characters of a label.
WIDTH, LONGEST = 9.2, 24
# matplotlib's type hints do not accept a dict of strings.
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
    """Raise an error if matplotlib is missing; it says what to install."""
    try:
        import matplotlib as mpl  # noqa: F401 - checks that it is installed
    except ImportError:
        raise MissingPackageError(
            f"{what} needs matplotlib (pip install 'mislid[plots]')"
        ) from None


@contextmanager
def drawing() -> Iterator[None]:
    """Apply the style of pictures, without warnings about missing glyphs: browsers have them."""
    require_matplotlib()
    from matplotlib import rc_context

    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure for notebooks, in inches; by default as wide as a page."""
    require_matplotlib()
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that notebooks show without pyplot, with two dots per point of a screen."""

        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            dpi = round(self.dpi)
            return as_png(self, 2 * dpi), {"width": round(self.get_figwidth() * dpi)}

    return Picture(figsize=(width, height), layout="constrained")


def as_png(figure: Figure, dpi: int = 150) -> bytes:
    """Render a figure as PNG on a white background.

    Parameters
    ----------
    figure
        The figure.
    dpi
        Dots per inch, 1 to 1000.

    Returns
    -------
    bytes
        The content of a PNG file.

    Raises
    ------
    ProblemError
        If `dpi` is out of range.
    MissingPackageError
        Without matplotlib.

    Examples
    --------
    >>> as_png(new_figure(1.0), dpi=20)[1:4]
    b'PNG'
    """
    dots = as_number(dpi, "dpi", low=1, high=1000)
    return _rendered(figure, "png", dpi=dots, facecolor=PAPER, metadata={"Software": None})


def as_svg(figure: Figure) -> str:
    """Render a figure as SVG, with text as text."""
    text = _rendered(figure, "svg", metadata={"Date": None, "Creator": None}).decode()
    return text[text.index("<svg") :]


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as a .png or .svg file, whole or not at all.

    Parameters
    ----------
    figure
        A figure from the functions of this package.
    path
        The file; an existing one is replaced.

    Raises
    ------
    FileFormatError
        If the name of the file does not end in .png or .svg.
    ProblemError
        If `path` is a directory or in one that does not exist.
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
    place = new_place(path, "path", ".png", ".svg")
    is_svg = place.suffix.lower() == ".svg"
    write_whole(place, as_svg(figure).encode() if is_svg else as_png(figure))


def _rendered(figure: Figure, form: str, **options: Any) -> bytes:
    content = io.BytesIO()
    with drawing():
        figure.savefig(content, format=form, **options)
    return content.getvalue()


def shorten(label: str, longest: int = LONGEST) -> str:
    """Shorten a label to one line by omitting its middle.

    >>> shorten("compound number 33", 12)
    'compou…er 33'
    """
    line = visible(" ".join(label.split()))
    if len(line) <= longest:
        return line
    end = (longest - 1) // 2
    return f"{line[: longest - 1 - end]}…{line[-end:]}"
