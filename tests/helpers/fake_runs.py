"""A stand-in for `identify`: random rows that depend on the seed alone, as slowly as asked."""

import os
import time
from dataclasses import dataclass

import numpy as np

from mislid.errors import ProblemError


@dataclass(frozen=True)
class FakeIdentification:
    samples: int
    correct: bool | None
    status: str


def identify(
    instance,
    m,
    *,
    seed,
    delta=0.05,
    algorithm="mislid",
    stopping="guaranteed",
    max_samples=None,
    tolerance=0.0,
    gamma=1.0,
    wait=0.0,
    fail_at=None,
    die_at=None,
    interrupt_at=None,
    stuck_from=None,
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
    time.sleep(wait if stuck_from is None or run < stuck_from else 600)
    rng = np.random.default_rng(seed)
    samples = int(rng.integers(100, 10_000))
    if rng.random() < 0.1:
        return FakeIdentification(samples, None, "budget exhausted")
    return FakeIdentification(samples, bool(rng.random() > delta), "stopped")


def interrupted_at_third(instance, m, *, seed, max_samples=None):
    """As a compiled run that notices Ctrl-C reports it."""
    (run,) = seed.spawn_key
    return FakeIdentification(5, None, "interrupted" if run == 3 else "stopped")
