"""Figures that notebooks show; kept apart, since matplotlib is loaded only where it draws."""

from __future__ import annotations

from matplotlib.figure import Figure

from mislid.plotting.theme import as_png

# Twice as many dots as a notebook gives to an inch: sharp on all screens.
_SHARP = 2


class Picture(Figure):
    """A figure that is shown when it is the last line of a cell.

    matplotlib teaches that to notebooks only once pyplot is imported, which draws nothing here.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and how wide it is to be shown."""
        width = round(self.get_figwidth() * self.dpi)
        return as_png(self, _SHARP * round(self.dpi)), {"width": width}
