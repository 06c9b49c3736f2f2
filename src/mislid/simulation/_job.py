"""One run of many: a pure function of what is asked, the seed and the run's number."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from mislid.model import Instance

INTERRUPTED = "interrupted"


class Outcome(Protocol):
    """What one identification tells about itself."""

    @property
    def samples(self) -> int:
        """Number of measurements."""

    @property
    def correct(self) -> bool | None:
        """Whether the answer is right; None where there is none."""

    @property
    def status(self) -> str:
        """Stopped, budget exhausted, or interrupted."""


class Row(NamedTuple):
    """One finished run: its number, measurements, whether its answer is right, status, seconds.

    Seconds are the processor's, so that they mean the same on a machine that has other work to do.
    """

    run: int
    samples: int
    correct: bool | None
    status: str
    seconds: float


@dataclass(frozen=True)
class Job:
    """What all runs of a replication share; small enough to send to every worker once."""

    instance: Instance
    m: int
    seed: int
    options: dict[str, Any] = field(default_factory=dict)
    identify: Callable[..., Outcome] | None = None
    # Tells jobs apart after they have travelled.
    name: str = field(default_factory=lambda: uuid.uuid4().hex, compare=False)

    def outcome(self, run: int, **changes: Any) -> Outcome:
        """Identify once, with random numbers that belong to this run alone."""
        seed = np.random.SeedSequence(self.seed, spawn_key=(run,))
        identify = self.identify or _identify()
        return identify(self.instance, self.m, seed=seed, **{**self.options, **changes})

    def row(self, run: int) -> Row:
        """Identify once and keep what a table shows."""
        start = time.thread_time()
        try:
            outcome = self.outcome(run)
        except Exception as problem:
            problem.add_note(f"in run {run} of seed {self.seed}")
            raise
        seconds = time.thread_time() - start
        correct = None if outcome.correct is None else bool(outcome.correct)
        return Row(run, int(outcome.samples), correct, str(outcome.status), round(seconds, 6))

    def warm_up(self) -> None:
        """Refuse bad arguments; compile what runs need and store it, so that workers load it.

        No run then counts the seconds of the compiler as its own.
        """
        self.outcome(0, max_samples=self.instance.K)


def _identify() -> Callable[..., Outcome]:
    # Brings the compiler along, so not before it is needed.
    from mislid.simulation.identify import identify

    return identify


_warm = ""


def measure(job: Job, run: int) -> Row:
    """`Job.row` as a function that travels to workers by name; the first of a job warms them up."""
    global _warm  # noqa: PLW0603 - the job for which this process has loaded what it needs
    if _warm != job.name:
        job.warm_up()
        _warm = job.name
    return job.row(run)
