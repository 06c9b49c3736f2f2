"""Run a race: how many samples rules need until their answers are right often enough.

Nothing stops a run. Runs are kept on disk, one line each, and taken up again where they ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mislid._validation import as_count
from mislid.errors import Interrupted, ProblemError
from mislid.io import write_whole
from mislid.model import Instance
from mislid.paper.experiments.reliability import Reliability, reliability
from mislid.paper.experiments.words import markdown, number
from mislid.simulation.job import digest

# A mean agrees within this share, or within so many standard errors.
MARGIN, ERRORS = 0.1, 2.6


@dataclass(frozen=True)
class Racer:
    """A rule, and the samples that were published for every delta of the race."""

    name: str
    algorithm: Any
    published: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """What a bar shows."""
        return self.name


@dataclass(frozen=True)
class Race:
    """Rules on one instance, each looked at every so many samples up to a horizon."""

    name: str
    title: str
    instance: Instance
    m: int
    deltas: tuple[float, ...]
    racers: tuple[Racer, ...]
    horizon: int
    every: int
    runs: int

    def settings(self, racer: Racer, seed: int) -> dict[str, Any]:
        """All that a run depends on, as values of JSON."""
        return {
            "instance": digest(self.instance),
            "m": self.m,
            "algorithm": repr(racer.algorithm),
            "horizon": self.horizon,
            "every": self.every,
            "seed": seed,
        }


# Called with the race, a racer, the number of finished runs and of all.
Tell = Callable[[Race, Racer, int, int], object]


def run_race(
    race: Race,
    output: Path,
    *,
    runs: int | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    tell: Tell = lambda race, racer, done, runs: None,
) -> dict[str, Reliability]:
    """Do the runs that `output` does not have yet; the same call can be made again at any time.

    Parameters
    ----------
    race
        An entry of `RACES`, or one of your own.
    output, executor
        Directory that keeps the runs, and what does them; by default this process.
    runs, seed
        Of every rule, by default as the race says; run r has the seed `seed` + r.
    tell
        Called with the race, a rule, the number of finished runs and of all.

    Returns
    -------
    dict
        By name of the rule, when its answers were right.
    """
    runs = race.runs if runs is None else as_count(runs, "runs", 1)
    found = {}
    for racer in race.racers:
        kept = _Kept(output / "parts" / _slug(racer.name), race.settings(racer, seed))
        missing = [run for run in range(runs) if run not in kept.lines]
        tell(race, racer, min(len(kept.lines), runs), runs)
        try:
            for run, bits in _finished(race, racer, seed, missing, executor):
                kept.add(run, bits)
                tell(race, racer, min(len(kept.lines), runs), runs)
        except KeyboardInterrupt:
            done = f"interrupted after {len(kept.lines)} of {runs} runs of {racer.name}"
            raise Interrupted(f"{done}, kept in {str(output)!r}") from None
        times = np.arange(race.every, race.horizon + 1, race.every)
        right = np.array([_right(kept.lines[run], times.size) for run in range(runs)])
        found[racer.name] = Reliability(times, right)
    return found


def one_run(race: Race, racer: Racer, seed: int) -> str:
    """When the answers of one run were right, as hexadecimal bits."""
    looked = reliability(
        race.instance,
        race.m,
        racer.algorithm,
        horizon=race.horizon,
        every=race.every,
        runs=1,
        seed=seed,
    )
    return np.packbits(looked.right[0]).tobytes().hex()


def _finished(
    race: Race, racer: Racer, seed: int, missing: list[int], executor: Executor | None
) -> Iterator[tuple[int, str]]:
    if executor is None:
        yield from ((run, one_run(race, racer, seed + run)) for run in missing)
        return
    waiting = {executor.submit(one_run, race, racer, seed + run): run for run in missing}
    try:
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    finally:
        for future in waiting:
            future.cancel()


def _right(bits: str, count: int) -> NDArray[np.bool_]:
    packed = np.frombuffer(bytes.fromhex(bits), dtype=np.uint8)
    return np.unpackbits(packed)[:count].astype(np.bool_)


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")


class _Kept:
    """Finished runs in a directory: settings.json, and a line for every run."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.place = folder / "right.txt"
        folder.mkdir(parents=True, exist_ok=True)
        known = folder / "settings.json"
        if known.exists() and json.loads(known.read_text(encoding="utf-8")) != settings:
            raise ProblemError(
                f"output must be a new directory or one of the same settings; got {str(folder)!r}"
            )
        write_whole(known, (json.dumps(settings, indent=2) + "\n").encode())
        text = self.place.read_text(encoding="utf-8") if self.place.exists() else ""
        # A line that was not finished has no end; it is done again.
        whole = [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]
        self.lines = {int(run): bits for run, bits in whole}
        if not text.endswith("\n") and text:
            write_whole(self.place, text[: text.rfind("\n") + 1].encode())

    def add(self, run: int, bits: str) -> None:
        """Keep a run."""
        self.lines[run] = bits
        with self.place.open("a", encoding="utf-8") as file:
            file.write(f"{run} {bits}\n")


def race_text(race: Race, found: dict[str, Reliability]) -> str:
    """The table of a finished race, and a sentence on every published number, as Markdown."""
    rows, sentences = [], []
    for racer in race.racers:
        for at, delta in enumerate(race.deltas):
            looked = found[racer.name]
            ours, error = looked.samples_until(1.0 - delta), looked.standard_error(1.0 - delta)
            published = racer.published[at] if racer.published else None
            shown = number(published) if published else ""
            rows.append(
                [racer.name, f"{delta:g}", str(len(looked.right)), _text(race, ours, error), shown]
            )
            if published:
                sentences.append(_sentence(racer, delta, ours, error, published))
    table = markdown(["rule", "delta", "runs", "samples", "published"], rows)
    setting = (
        f"The {race.m} best of {race.instance.K} arms. Samples until more than 1 - delta of the "
        f"runs are right, looked at every {race.every}, ± standard errors of runs drawn anew; no "
        "run stops by itself."
    )
    listed = "\n".join(f"- {sentence}" for sentence in sentences)
    return f"# {race.name}: {race.title}\n\n{setting}\n\n{table}\n\n{listed}\n"


def _text(race: Race, samples: float, error: float) -> str:
    if not np.isfinite(samples):
        return f"more than {number(race.horizon)}"
    return number(samples) + (f" ± {number(error)}" if np.isfinite(error) else "")


def _sentence(racer: Racer, delta: float, ours: float, error: float, published: int) -> str:
    start = f"{racer.name} at delta {delta:g}: {number(ours) if np.isfinite(ours) else 'no end'}"
    difference = ours - published
    if not np.isfinite(error):
        return f"{start} against {number(published)} published; the runs do not tell by how much."
    # Of the published number no error is known: take it to be as large as ours.
    agrees = abs(difference) <= max(MARGIN * published, ERRORS * error * np.sqrt(2.0))
    return (
        f"{start} samples against {number(published)} published, {difference / published:+.1%}: "
        + ("agrees." if agrees else "**differs**.")
    )
