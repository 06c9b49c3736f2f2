"""Fill in the numbers of README.md: `python -m benchmarks.readme`, with `--check` only compare.

They come from a run of the demonstration, from the README's own example, and from the documents
that benchmarks have written.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from mislid.paper.experiments.demo import M, run_demo

from .report import with_section
from .tables import DOCS, benchmark, number, section

README = DOCS.parent / "README.md"
EXAMPLE = re.compile(r"(?ms)^```python\n(?P<code>.*?)^```")
WIDTH = 119
# Of the first lines of docs/reproduction.md.
EFFORT = re.compile(
    r"The (?P<runs>[\d,]+) runs below took (?P<minutes>[\d,]+) minutes of one processor .*; "
    r"the authors' took (?P<days>[\d.]+) days"
)


def demo_words() -> str:
    """What the picture shows."""
    demo = run_demo(lambda name, progress: None)
    instance, found = demo.instance, demo.found
    samples = {name: f"{run.samples:,}" for name, run in found.items()}
    missed = [arm for arm in instance.top(M) if arm not in (found["LinGapE"].answer or ())]
    assert found["mislid"].correct
    assert instance.top(M)[0] in missed
    return paragraph(
        f"The {M} most potent of {instance.K} made-up compounds, from noisy assays and "
        f"{instance.d - 1} descriptors that predict potency to within "
        f"{instance.model.misspecification:g}. `mislid` is sure after {samples['mislid']} "
        f"measurements, uniform sampling after {samples['uniform']}; LinGapE, which trusts the "
        f"descriptors, stops at {samples['LinGapE']} without the best compound. One run each: "
        "[many runs](docs/running.md#the-demonstration) say the same."
    )


def example_output(readme: str) -> str:
    """What the example prints."""
    [code] = EXAMPLE.findall(readme)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    return f"```text\n{printed.getvalue()}```"


def gains_words() -> str:
    """What benchmarks and the reproduction say in short."""
    [proof] = benchmark("proof")
    ratios = [ratio for cell in proof.column("over the best rival") if (ratio := number(cell))]
    reproduction = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    effort = EFFORT.search(" ".join(reproduction.split()))  # lines end anywhere
    assert effort is not None
    return paragraph(
        f"With a proof at error rate 0.05 it took {min(ratios):.2f} to {max(ratios):.2f} times "
        f"the measurements of the better of two rivals, on {len(ratios)} kinds of problems: "
        "least where descriptors are good, hardly less where they are worth nothing. "
        f"{effort['runs']} runs of the paper's experiments take {effort['minutes']} minutes of one "
        f"processor; the authors' took {effort['days']} days. [Three pictures](docs/gains.md) say "
        "where the gain is, and where it is not."
    )


def paragraph(words: str) -> str:
    """Lines of the README's width; links stay whole."""
    return textwrap.fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)


def with_numbers(readme: str) -> str:
    """The README with all its numbers."""
    parts = {"demo": demo_words(), "output": example_output(readme), "gains": gains_words()}
    for name, body in parts.items():
        readme = with_section(readme, name, body)
    return readme


def main(given: Sequence[str] | None = None) -> int:
    """Write the numbers, or say which sections are not as they should be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readme", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if they differ")
    parser.add_argument("--readme", type=Path, default=README, help="another file of this kind")
    options = parser.parse_args(given)
    before = options.readme.read_text(encoding="utf-8")
    after = with_numbers(before)
    if not options.check:
        options.readme.write_text(after, encoding="utf-8")
        return 0
    wrong = [
        name
        for name in ("demo", "output", "gains")
        if section(before, name) != section(after, name)
    ]
    for name in wrong:
        print(f"{options.readme.name}: the section {name} should say{section(after, name)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
