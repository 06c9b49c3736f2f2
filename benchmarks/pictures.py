"""The picture of docs/benchmarks.md, from its table: `python -m benchmarks.pictures`."""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1] / "docs"
COLOUR, GREY = "#2a7f9e", "#6b7280"
# Rules that know the truth or ignore everything are no rivals.
LEFT_OUT = {"mislid", "oracle", "uniform", "rule"}


def cells(name: str) -> dict[str, list[tuple[float, bool]]]:
    """Ratios by rule, and whether each is a lower bound."""
    with (DOCS / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    found = {}
    for rule, *ratios, _ in rows:
        if rule not in LEFT_OUT:
            told = [cell for cell in ratios if cell]
            found[rule] = [
                (float(cell.lstrip("≥ ").split()[0]), cell.startswith("≥")) for cell in told
            ]
    return found


def middle(found: list[tuple[float, bool]]) -> float:
    """The median."""
    values = sorted(value for value, _ in found)
    return 0.5 * (values[(len(values) - 1) // 2] + values[len(values) // 2])


def main() -> None:
    """Draw the samples of other rules over those of the default."""
    found = dict(sorted(cells("rivals-guaranteed").items(), key=lambda item: middle(item[1])))
    figure, axes = plt.subplots(figsize=(8.5, 4.6), layout="constrained")
    for place, ratios in enumerate(found.values()):
        for cut, marker in ((False, "o"), (True, ">")):
            values = [value for value, is_cut in ratios if is_cut is cut]
            face = "white" if cut else COLOUR
            axes.plot(values, [place] * len(values), marker, mfc=face, mec=COLOUR, ms=5, alpha=0.75)
        axes.plot([middle(ratios)] * 2, [place - 0.32, place + 0.32], color="#d1495b", lw=2.2)
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
