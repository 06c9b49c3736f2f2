"""Draw the pictures of docs/gains.md and fill in its numbers: `python -m benchmarks.gains`.

Everything comes from the tables of docs/benchmarks.md and docs/reproduction.md. Run it again when
one of them has changed; with `--check` nothing is written and the exit status says whether it has.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mislid.plotting import theme
from mislid.plotting.theme import BEST, CONTRAST, GREY, INK, PAPER, REST

from .report import digits, with_section
from .tables import DOCS, Table, benchmark, error, is_cut, number, section, tables

PAGE = DOCS / "gains.md"
PICTURES = DOCS / "gains"
PROVEN = "guaranteed"
WIDTH = 119
# A rule that knows the truth competes with nobody.
KNOWS_THE_TRUTH = "oracle"
# Of docs/reproduction.md, and what it says where runs are not of the same instance.
SPEED_COLUMNS = (
    "method", "difference of means", "samples", "processor seconds a run", "published samples",
    "seconds a run",
)  # fmt: skip
OTHER_INSTANCE = "another instance"


class Ratio(NamedTuple):
    """A number that is 1 where nothing is gained, with its standard error."""

    value: float
    error: float
    at_least: bool = False


class Rival(NamedTuple):
    """A sampling rule, and its samples over those of the default, problem by problem."""

    name: str
    ratios: list[Ratio]

    @property
    def at_least(self) -> bool:
        """Whether the median would be larger, had no run been given up."""
        ended = [np.inf if ratio.at_least else ratio.value for ratio in self.ratios]
        return bool(np.median(ended) > self.typical)

    @property
    def typical(self) -> float:
        """Half of the problems are below."""
        return float(np.median([ratio.value for ratio in self.ratios]))


class Worth(NamedTuple):
    """Samples of the default, and of a rule that chooses without features, with the same proof."""

    case: str
    ours: float
    theirs: float
    ratio: Ratio


class Speed(NamedTuple):
    """Seconds a sample of the same algorithm, by this package and by the published code."""

    case: str
    method: str
    ours: float
    theirs: float


def rivals() -> list[Rival]:
    """All rules with the proof, the closest to the default first."""
    rules: dict[str, list[str]] = {}
    for found in benchmark("rivals"):
        if PROVEN in found.title:
            for name, cells in by_rule(found).items():
                rules.setdefault(name, []).extend(cells)
    read = [
        Rival(name, [ratio_of(cell) for cell in cells if number(cell) is not None])
        for name, cells in rules.items()
        if name != KNOWS_THE_TRUTH
    ]
    return sorted((rival for rival in read if rival.ratios), key=lambda rival: rival.typical)


def by_rule(found: Table) -> dict[str, list[str]]:
    """The ratios of every rule but the default.

    >>> by_rule(Table("", ["rule", "A (9)"], [["`mislid`", "9"], ["`lucb`", "2"]]))
    {'lucb': ['2']}
    >>> by_rule(Table("", ["rule", "µs a sample"], [["`mislid`", "9"], ["`lucb`", "2"]]))
    {}
    """
    if found.header[1].startswith("µs"):
        return {}
    others = (row for row in found.rows if not row[0].startswith("`mislid`"))
    return {row[0].strip("`"): row[1:] for row in others}


def ratio_of(cell: str) -> Ratio:
    """A cell as a ratio."""
    value = number(cell)
    assert value is not None
    return Ratio(value, error(cell), is_cut(cell))


def worths() -> list[Worth]:
    """What features are worth, the most first."""
    [proof] = benchmark("proof")
    columns = (proof.column(name) for name in ("case", "`mislid`, mean", "`lucb`"))
    found = []
    for case, own, other in zip(*columns, strict=True):
        ours, theirs = number(own), number(other)
        if ours is None or theirs is None:
            continue
        spread = float(np.hypot(error(own) / ours, error(other) / theirs))
        found.append(Worth(case, ours, theirs, Ratio(theirs / ours, spread * theirs / ours)))
    return sorted(found, key=lambda worth: -worth.ratio.value)


def speeds() -> list[Speed]:
    """All algorithms that were run by both, the largest gain first."""
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    found = []
    for one in tables(text):
        if "processor seconds a run" not in one.header or "seconds a run" not in one.header:
            continue
        case = one.title.strip("*").partition(":")[0]
        columns = (one.column(name) for name in SPEED_COLUMNS)
        for method, comparable, *cells in zip(*columns, strict=True):
            samples, seconds, their_samples, their_seconds = map(number, cells)
            if not (samples and seconds and their_samples and their_seconds):
                continue
            theirs = their_seconds / their_samples
            # The same published runs may stand in two experiments.
            if comparable != OTHER_INSTANCE and theirs not in {speed.theirs for speed in found}:
                found.append(Speed(case, method, seconds / samples, theirs))
    return sorted(found, key=lambda speed: -speed.theirs / speed.ours)


def draw_rivals(axes: Axes) -> None:
    """Every rule in a row: a dot for every problem, the range behind them."""
    found = rivals()
    for at, rival in enumerate(found):
        values = [ratio.value for ratio in rival.ratios]
        axes.hlines(at, min(values), max(values), color=REST, lw=5, alpha=0.45, zorder=1)
        for ratio in rival.ratios:
            _dot(axes, ratio, at)
        axes.text(
            1.02,
            at,
            f"{'≥ ' if rival.at_least else ''}{rival.typical:.2f}",
            transform=axes.get_yaxis_transform(),
            va="center",
        )
    axes.text(1.02, -0.85, "median", transform=axes.get_yaxis_transform(), color=GREY)
    _one(axes, "as many as mislid")
    _log_axis(axes, "samples until the proof, over those of mislid on the same problem")
    axes.set_yticks(range(len(found)), [rival.name for rival in found])
    theme.only_rows(axes, len(found))
    axes.set_title("Samples for the same proof: other rules beside mislid", pad=20)


def draw_features(axes: Axes) -> None:
    """Every problem in a row: a bar from 1 to what the features save."""
    found = worths()
    for at, (_, ours, theirs, ratio) in enumerate(found):
        gain = ratio.value - 2.0 * ratio.error > 1.0
        axes.barh(
            at, ratio.value - 1.0, left=1.0, height=0.62, color=BEST if gain else REST, zorder=2
        )
        axes.hlines(
            at, ratio.value - ratio.error, ratio.value + ratio.error, color=INK, lw=1.2, zorder=3
        )
        axes.text(
            (ratio.value + ratio.error) * 1.04,
            at,
            f"{ours:,.0f} instead of {theirs:,.0f}",
            va="center",
            fontsize=7.5,
            color=GREY,
        )
    _one(axes, "as many as mislid")
    _log_axis(axes, "samples of lucb, which chooses arms without features, over those of mislid")
    axes.set_xlim(0.9, 1.9 * max(worth.ratio.value for worth in found))
    axes.set_yticks(range(len(found)), [_case_words(worth.case) for worth in found])
    theme.only_rows(axes, len(found))
    axes.set_title("Features help as far as they are right", pad=20)


def draw_speed(axes: Axes) -> None:
    """Every algorithm in a row: two dots, and how far they are apart."""
    found = speeds()
    for at, (_, _, ours, theirs) in enumerate(found):
        axes.hlines(at, 1e6 * ours, 1e6 * theirs, color=REST, lw=2, zorder=1)
        axes.plot(1e6 * ours, at, "o", color=BEST, ms=8, zorder=3)
        axes.plot(1e6 * theirs, at, "o", mfc=PAPER, mec=CONTRAST, mew=1.8, ms=8, zorder=3)
        middle = 1e6 * float(np.sqrt(ours * theirs))
        axes.text(
            middle, at - 0.12, f"{theirs / ours:,.0f} times", ha="center", fontsize=8, color=INK
        )
    first = found[0]
    for seconds, name, colour in (
        (first.ours, "mislid", BEST),
        (first.theirs, "published code", CONTRAST),
    ):
        axes.text(1e6 * seconds, -0.45, name, ha="center", color=colour, fontweight="bold")
    _log_axis(axes, "time a sample, in microseconds")
    low, high = min(s.ours for s in found), max(s.theirs for s in found)
    axes.set_xlim(0.4e6 * low, 3e6 * high)
    axes.set_yticks(range(len(found)), [f"{s.method}   {s.case}" for s in found])
    theme.only_rows(axes, len(found))
    axes.set_ylim(len(found) - 0.4, -1.0)
    axes.set_title("The same algorithm, measured and published", pad=8)


def _dot(axes: Axes, ratio: Ratio, at: int) -> None:
    if ratio.at_least:
        axes.plot(ratio.value, at, ">", mfc=PAPER, mec=BEST, mew=1.4, ms=6, zorder=3)
    else:
        axes.hlines(at, ratio.value - ratio.error, ratio.value + ratio.error, color=BEST, lw=1.2)
        axes.plot(ratio.value, at, "o", color=BEST, ms=5, zorder=3)


def _one(axes: Axes, words: str) -> None:
    axes.axvline(1.0, color=INK, lw=1.1, zorder=2)
    axes.annotate(
        words, (1.0, 1.0), (0, 4), xycoords=axes.get_xaxis_transform(),
        textcoords="offset points", ha="left", color=INK, fontsize=8.5,
    )  # fmt: skip


def _log_axis(axes: Axes, words: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    few = high < 1000.0 * low
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.7g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", color=REST, alpha=0.25, lw=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(words)


def _case_words(case: str) -> str:
    """Published instances by the names that the paper has for them."""
    return f"the paper's {case}" if case[0] in "ABDE" and len(case) < 7 else case


def rivals_words() -> str:
    """Sentences under the first picture."""
    found = rivals()
    problems = max(len(rival.ratios) for rival in found)
    close = [rival for rival in found if min(_low(ratio) for ratio in rival.ratios) <= 1.0]
    names = ", ".join(f"`{rival.name}` ({rival.typical:.2f})" for rival in close)
    rest = [rival.typical for rival in found if rival not in close]
    said = f"{len(found)} other rules, up to {problems} problems each."
    if close:
        said += (
            f" Chance may explain the difference to {names} on at least one problem, within two "
            "standard errors; the number is the median ratio."
        )
    if rest:
        said += f" The medians of the others are {min(rest):.2f} to {max(rest):.1f}."
    return said


def features_words() -> str:
    """Sentences under the second picture."""
    found = worths()
    most, least = found[0], found[-1]
    doubtful = [worth.case for worth in found if _low(worth.ratio) <= 1.0]
    return (
        f"Most is gained on {most.case}: {most.ours:,.0f} samples instead of {most.theirs:,.0f}. "
        f"Least on {least.case}: {least.ours:,.0f} instead of {least.theirs:,.0f}. On "
        f"{len(doubtful)} of {len(found)} problems the gain is within two standard errors of "
        f"nothing: {', '.join(doubtful)}. {_wrong_words()}"
    )


def _wrong_words() -> str:
    [proof] = benchmark("proof")
    wrong = [rate for rate in map(number, proof.column("wrong")) if rate]
    if not wrong:
        return "No answer of `mislid` was wrong."
    return f"Up to {max(wrong):.1%} of the answers of `mislid` were wrong."


def speed_words() -> str:
    """Sentences under the third picture."""
    found = [speed.theirs / speed.ours for speed in speeds()]
    return (
        f"{len(found)} algorithms and instances. The gain is {digits(min(found))} to "
        f"{digits(max(found))} times, in the median {digits(float(np.median(found)))} times."
    )


def bound_words() -> str:
    """A sentence on what is left to gain."""
    [proof] = benchmark("proof")
    over = [number(cell) for cell in proof.column("over the bound")]
    found = [value for value in over if value is not None]
    return (
        f"- The lower bound is not reached: proofs took {digits(min(found))} to "
        f"{digits(max(found))} times as many samples. A part of that is the price of a proof at "
        "an error rate that is not tiny."
    )


def _low(ratio: Ratio) -> float:
    """What the ratio may well be, if it is smaller than it seems."""
    return ratio.value - 2.0 * ratio.error


class Part(NamedTuple):
    """A section of the page: its picture and its sentences."""

    draw: Callable[[Axes], None]
    words: Callable[[], str]
    rows: Callable[[], Sequence[object]]


PARTS = {
    "rivals": Part(draw_rivals, rivals_words, rivals),
    "features": Part(draw_features, features_words, worths),
    "speed": Part(draw_speed, speed_words, speeds),
}


def picture(name: str) -> Figure:
    """The picture of a section."""
    part = PARTS[name]
    with theme.drawing():
        figure = theme.new_figure(1.5 + 0.27 * len(part.rows()))
        part.draw(figure.subplots())
    return figure


def wrapped(words: str) -> str:
    """Lines of the page's width; those of a list stay in it."""
    indent = "  " if words.startswith("- ") else ""
    return textwrap.fill(words, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def main(given: Sequence[str] | None = None) -> int:
    """Write pictures and sentences, or say which sentences are not as they should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gains", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if they differ")
    options = parser.parse_args(given)
    page = PAGE.read_text(encoding="utf-8")
    words = {name: part.words() for name, part in PARTS.items()} | {"bound": bound_words()}
    if options.check:
        wrong = [name for name in words if section(page, name).split() != words[name].split()]
        for name in wrong:
            print(f"{PAGE.name}: the section {name} should say: {words[name]}")
        return 1 if wrong else 0
    Path(PICTURES).mkdir(exist_ok=True)
    for name in PARTS:
        theme.save(picture(name), PICTURES / f"{name}.png")
    for name, said in words.items():
        page = with_section(page, name, wrapped(said))
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
