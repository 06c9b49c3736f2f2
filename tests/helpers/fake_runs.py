"""A stand-in for `identify`: random rows that depend on the seed alone, as slowly as asked."""

import os
import time
from dataclasses import dataclass

import numpy as np

from mislid.errors import ProblemError
from mislid.simulation.replicate import Job


@dataclass(frozen=True)
class FakeIdentification:
    samples: int
    correct: bool | None
    status: str


def identify(
    instance,
    seed,
    *,
    delta=0.05,
    algorithm="mislid",
    max_samples=None,
    wait=0.0,
    fail_at=None,
    die_at=None,
    interrupt_at=None,
    report_interrupt_at=None,
    stuck_from=None,
    **_,
):
    """Mostly right, sometimes without an answer; `*_at` names a run where something happens."""
    if algorithm == "nonsense":
        raise ProblemError(f"algorithm must be a known name; got {algorithm!r}")
    if max_samples == instance.K:
        return FakeIdentification(instance.K, None, "budget exhausted")
    (run,) = seed.spawn_key
    if run == fail_at:
        raise ProblemError("this run fails")
    if run == die_at:
        os._exit(3)
    if run == interrupt_at:
        raise KeyboardInterrupt
    if run == report_interrupt_at:  # as a compiled run that notices Ctrl-C
        return FakeIdentification(5, None, "interrupted")
    time.sleep(wait if stuck_from is None or run < stuck_from else 600)
    rng = np.random.default_rng(seed)
    samples = int(rng.integers(100, 10_000))
    if rng.random() < 0.1:
        return FakeIdentification(samples, None, "budget exhausted")
    return FakeIdentification(samples, bool(rng.random() > delta), "stopped")


class FakeJob(Job):
    """In the place of `Job` in `mislid.simulation.replicate`; it travels to workers by name."""

    def outcome(self, run, **changes):
        seed = np.random.SeedSequence(self.seed, spawn_key=(run,))
        return identify(self.instance, seed, **{**self.options, **changes})
