"""A study's log in numbers: what was asked, measured and decided."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Vector
from mislid.study.certificate import sha256_of
from mislid.study.events import Decided, Event, entry_of
from mislid.study.settings import Candidates, Settings
from mislid.study.state import StudyState

Arms = NDArray[np.int64]


class Recorded(Protocol):
    """What has a name and a log: all that a report needs of a study."""

    study_name: str

    def events(self) -> list[Event]:
        """The whole log."""
        ...


@dataclass(frozen=True, eq=False)
class Facts:
    """One moment of a study.

    Attributes
    ----------
    arms, values
        The n measurements in their order: indices of candidates, and values in the user's sign.
    pending
        Number of trials that nobody has told yet.
    created, updated
        Times of the first and the last event, in seconds since 1970.
    fingerprint
        SHA-256 of the log, in hexadecimal digits.
    """

    name: str
    settings: Settings
    candidates: Candidates
    arms: Arms
    values: Vector
    decision: Decided | None
    pending: int
    created: float
    updated: float
    fingerprint: str

    @property
    def K(self) -> int:
        """Number of candidates."""
        return self.candidates.K

    @property
    def samples(self) -> int:
        """Number of measurements."""
        return self.arms.size

    @cached_property
    def labels(self) -> list[str]:
        """The candidates' labels as texts (K,)."""
        return [str(label) for label in self.candidates.labels]

    @cached_property
    def noise(self) -> Vector:
        """Standard deviations (K,)."""
        return self.settings.deviations(self.K)

    @cached_property
    def counts(self) -> Vector:
        """Measurements of every candidate (K,)."""
        return self.counts_after(self.samples)

    @cached_property
    def means(self) -> Vector:
        """Their means (K,), in the user's sign; not a number where nothing was measured."""
        with np.errstate(invalid="ignore"):
            means: Vector = self.sums_after(self.samples) / self.counts
        return means

    @cached_property
    def half_widths(self) -> Vector:
        """Half the widths of confidence intervals around the means (K,).

        Each holds its true mean with probability at least 1 - delta, at all times at once and
        whatever rule chose the candidates: `deviation_constant` for a set of one arm. Infinite
        where nothing was measured.
        """
        from mislid._kernels.thresholds import arm_allowance
        from mislid.rules.thresholds import deviation_constant

        level = deviation_constant(-math.log(self.settings.delta))
        evidence = level + np.array([arm_allowance(n) for n in self.counts.tolist()])
        with np.errstate(divide="ignore"):
            widths: Vector = self.noise * np.sqrt(2.0 * evidence / self.counts)
        return widths

    @cached_property
    def candidates_fingerprint(self) -> str:
        """SHA-256 of labels and features, as in a certificate."""
        return sha256_of(self.candidates.plain())

    def counts_after(self, samples: int) -> Vector:
        """Measurements of every candidate (K,) among the first so many."""
        return np.bincount(self.arms[:samples], minlength=self.K).astype(np.float64)

    def sums_after(self, samples: int) -> Vector:
        """Sums of their values (K,), in the user's sign."""
        sums = np.bincount(self.arms[:samples], self.values[:samples], self.K)
        return sums.astype(np.float64)


def read_facts(study: Recorded) -> Facts:
    """Read the log once, so that everything in a report is of the same moment."""
    events = study.events()
    state = StudyState()
    for event in events:
        state.apply(event)
    return Facts(
        name=study.study_name,
        settings=state.settings,
        candidates=state.candidates,
        arms=np.array([one.arm for one in state.observations], dtype=np.int64),
        values=np.array([one.value for one in state.observations], dtype=np.float64),
        decision=state.decision,
        pending=len(state.waiting),
        created=state.created_at,
        updated=state.time,
        fingerprint=_digest(
            f"{entry.sequence} {entry.time!r} {entry.kind} {entry.body}\n"
            for entry in map(entry_of, events)
        ),
    )


def _digest(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
    return digest.hexdigest()
