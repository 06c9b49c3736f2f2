"""What can happen in a study. Its log is all there is: whatever it knows is a replay of it."""

from __future__ import annotations

from dataclasses import dataclass

from mislid.study.candidates import Candidates
from mislid.study.settings import Settings


@dataclass(frozen=True, slots=True)
class Created:
    """The study began with this question."""

    settings: Settings
    candidates: Candidates


@dataclass(frozen=True, slots=True)
class Asked:
    """Trials were handed out, to a worker if named, until `expires` (seconds, None: for ever).

    `again` names, per trial, the expired one that it asks again, or None for a new one. A rule
    chose the arms of new ones or, where the batch had to fit limits, proposed the arms `proposed`,
    one for each group of trials, which are as many in every group.
    """

    trials: tuple[int, ...]
    arms: tuple[int, ...]
    again: tuple[int | None, ...]
    worker: str | None
    expires: float | None
    proposed: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """A worker who came back was given its own trials again, with a new lease."""

    trials: tuple[int, ...]
    worker: str
    expires: float | None


@dataclass(frozen=True, slots=True)
class Told:
    """A trial gave this value, in the user's sign, and `more` that are looked at with it."""

    trial: int
    value: float
    more: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """A trial gave nothing."""

    trial: int


@dataclass(frozen=True, slots=True)
class Observed:
    """Measurements that no trial asked for, in order, taken in at once."""

    arms: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Decided:
    """The stopping rule was satisfied by the first `samples` measurements.

    `answer` has the arms, best first; `statistic` reached `threshold` for the `pair` (challenger,
    incumbent) that was hardest to tell apart.
    """

    answer: tuple[int, ...]
    samples: int
    rule: str
    statistic: float
    threshold: float
    pair: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Corrected:
    """The measurements of rows were mistakes, and were these values; any decision is made anew.

    Rows are counted from 0 over all measurements of the log. One that was void counts again.
    """

    rows: tuple[int, ...]
    values: tuple[float, ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Voided:
    """The measurements of rows do not count any more; any decision is made anew."""

    rows: tuple[int, ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Redeclared:
    """From here on this is assumed, of what came before as well; any decision is made anew.

    None leaves as it is what was declared before.
    """

    misspecification: float | None
    noise: tuple[float, ...] | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer is wanted for every misspecification up to this; a decision for it follows."""

    misspecification: float
    reason: str | None


@dataclass(frozen=True, slots=True)
class Added:
    """The question is about these candidates as well; any decision is made anew.

    `noise` and `cost` are theirs, where candidates differ in that. `informed` says whether they may
    have been chosen after a look at values of the study.
    """

    candidates: Candidates
    noise: tuple[float, ...] | None
    cost: tuple[float, ...] | None
    informed: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Retired:
    """An arm cannot be measured any more; one that `leaves` is not in the question either.

    Any decision is then made anew. `informed` as for `Added`; one that stays has no use for it.
    """

    arm: int
    leaves: bool
    informed: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class Contradicted:
    """The first `samples` measurements contradict what was declared: "misspecification" or "noise".

    The logarithm of the evidence, `statistic`, exceeded `threshold`, which it ever does with
    probability at most `level` if the declaration is right. No less than `least` (a
    misspecification, or a factor of the noise) would not be contradicted.
    """

    what: str
    samples: int
    level: float
    statistic: float
    threshold: float
    least: float


Fact = (
    Created
    | Asked
    | Renewed
    | Told
    | Failed
    | Observed
    | Decided
    | Corrected
    | Voided
    | Redeclared
    | Accepted
    | Contradicted
    | Added
    | Retired
)
