"""The picture of docs/benchmarks.md, from its table: `python -m benchmarks.pictures`."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median

import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1] / "docs"
COLOUR, GREY = "#2a7f9e", "#6b7280"
# Rules that know the truth or ignore everything are no rivals.
LEFT_OUT = {"mislid", "oracle", "uniform", "rule"}


def ratios() -> dict[str, list[tuple[float, bool]]]:
    """Ratios by rule, and whether each is a lower bound, in the order of their medians."""
    with (DOCS / "tables" / "rivals-guaranteed.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    found = {
        rule: [(float(cell.lstrip("≥ ").split()[0]), "≥" in cell) for cell in cells if cell]
        for rule, *cells in rows
        if rule not in LEFT_OUT
    }
    return dict(sorted(found.items(), key=lambda item: middle(item[1])))


def middle(found: list[tuple[float, bool]]) -> float:
    """The median."""
    return median(value for value, _ in found)


def main() -> None:
    """Draw the samples of other rules over those of the default."""
    found = ratios()
    figure, axes = plt.subplots(figsize=(8.5, 4.6), layout="constrained")
    for place, row in enumerate(found.values()):
        for value, is_cut in row:
            face, marker = ("white", ">") if is_cut else (COLOUR, "o")
            axes.plot(value, place, marker, mfc=face, mec=COLOUR, ms=5, alpha=0.75)
        axes.plot([middle(row)] * 2, [place - 0.32, place + 0.32], color="#d1495b", lw=2.2)
    axes.axvline(1.0, color=GREY, lw=1)
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    axes.minorticks_off()
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("samples over those of mislid, same stopping rule (red: median)")
    figure.savefig(DOCS / "rivals.png", dpi=130)


if __name__ == "__main__":
    main()
