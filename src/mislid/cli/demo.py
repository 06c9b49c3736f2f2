"""`mislid demo`: a first look."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import click

from mislid.cli.options import seed_option, setting
from mislid.cli.output import as_table

if TYPE_CHECKING:
    from mislid.paper.experiments.demo import Demo
    from mislid.simulation.identify import Identification, Progress

PICTURE = "mislid-demo.png"
GAUGE = 24  # characters


@click.command("demo")
@setting("--output", click.Path(), PICTURE, "Where to save the picture.", metavar="FILE.png")
@seed_option
def command(output: str, seed: int) -> None:
    """Find the 3 best of 12 embedded compounds by simulated measurements, compare with other
    methods and with the lower bound, and save a picture.
    """
    from mislid.io import new_place

    path = new_place(output, "--output", ".png")
    from mislid.paper.experiments.demo import draw_demo, run_demo

    with Live() as live:
        demo = run_demo(live, seed)
    click.echo("\n\n".join([_question(demo), _answer(demo), _comparison(demo, seed)]))
    try:
        from mislid.plotting import save

        save(draw_demo(demo), path)
    except ImportError:
        click.echo("No picture: matplotlib is missing (pip install 'mislid[plots]').", err=True)
        return
    click.echo(f"\nPicture: {path}")


def _names(demo: Demo, arms: tuple[int, ...]) -> str:
    return ", ".join(str(demo.instance.label(arm)) for arm in arms)


def _question(demo: Demo) -> str:
    from mislid.paper.experiments.demo import DELTA, M

    instance = demo.instance
    return (
        f"Which {M} of {instance.K} compounds are most potent, at error rate {DELTA:g}? "
        f"{instance.d - 1} descriptors predict\npotency linearly, to within "
        f"{instance.model.misspecification:g}; an assay has a standard deviation of "
        f"{instance.noise[0]:g}."
    )


def _answer(demo: Demo) -> str:
    from mislid.paper.experiments.demo import DELTA

    found = demo.found["mislid"]
    evidence = found.certificate
    if found.answer is None or evidence is None or evidence.pair is None:
        return f"No answer: {found.status} after {found.samples:,} measurements."
    challenger, incumbent = (demo.instance.label(arm) for arm in evidence.pair)
    verdict = "right" if found.correct else "wrong"
    standing = "proven" if evidence.proven else "not proven"
    return as_table(
        [
            ("answer", f"{_names(demo, found.answer)} ({verdict})"),
            (
                "guarantee",
                f"wrong with probability at most {DELTA:g}, {standing} (rule {evidence.rule})",
            ),
            ("evidence", f"{evidence.statistic:.2f}, threshold {evidence.threshold:.2f}"),
            ("hardest pair", f"{challenger} against {incumbent}"),
            ("measurements", f"{found.samples:,}"),
        ]
    )


def _comparison(demo: Demo, seed: int) -> str:
    from mislid.paper.experiments.demo import DELTA, METHODS

    rows = [("method", "measurements", "descriptors", "stopping", "answer")]
    for name, found in demo.found.items():
        method, samples = METHODS[name], f"{found.samples:,}"
        rule = "own test" if method.stopping == "heuristic" else method.stopping
        rows.append((name, samples, method.descriptors, rule, _outcome(demo, found)))
    for name, time in (("mislid", demo.time), ("LUCB", demo.time_without_features)):
        samples, least = f"{time.samples(DELTA):,.0f}", "no method needs fewer on average"
        rows.append(("lower bound", samples, METHODS[name].descriptors, "any", least))
    lines = [
        f"{name:<11}  {samples:>12}  {descriptors:<11}  {rule:<10}  {answer}"
        for name, samples, descriptors, rule, answer in rows
    ]
    note = f"One run each; --seed {seed + 1} gives others."
    return "\n".join([*lines, note])


def _outcome(demo: Demo, found: Identification) -> str:
    if found.answer is None:
        return f"none, {found.status}"
    best = demo.instance.top(len(found.answer))
    missed = tuple(arm for arm in best if arm not in found.answer)
    if found.correct:
        return _names(demo, found.answer)
    worst = ", the best" if best[0] in missed else ""
    return f"{_names(demo, found.answer)}: wrong, without {_names(demo, missed)}{worst}"


class Live:
    """The progress of runs on stderr: repainted on a terminal, elsewhere one line per run."""

    def __init__(self) -> None:
        self.stream = sys.stderr
        self.painting = self.stream.isatty()
        self.unfinished = False

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *problem: object) -> None:
        """End an unfinished line."""
        if self.unfinished:
            self.stream.write("\n")

    def __call__(self, name: str, progress: Progress) -> None:
        """Show the progress of a run."""
        if self.painting:
            self.stream.write(f"\r\033[K{progress_line(name, progress)}")
            self.unfinished = True
        if progress.finished:
            self.stream.write("\n" if self.painting else f"{progress_line(name, progress)}\n")
            self.unfinished = False
        self.stream.flush()


def progress_line(name: str, progress: Progress) -> str:
    """A gauge with the share of the evidence and the number of measurements.

    >>> from types import SimpleNamespace
    >>> progress_line("mislid", SimpleNamespace(samples=1200, evidence=0.5))
    'mislid    ############------------  50%    1,200 measurements'
    """
    share = progress.evidence
    if math.isnan(share):
        gauge = " " * (GAUGE + 5)
    else:
        # Rounded down: only a run that has stopped is at 100%.
        filled = int(GAUGE * min(share, 1.0))
        percent = int(100 * min(share, 1.0))
        gauge = "#" * filled + "-" * (GAUGE - filled) + f"{percent:4d}%"
    return f"{name:<8}  {gauge}  {progress.samples:>7,} measurements"
