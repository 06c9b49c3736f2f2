"""Records of a study for its users: trials, results and summaries."""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from mislid._formatting import facts, shown
from mislid._validation import Vector
from mislid.errors import UnknownTrialError
from mislid.io import as_plain

if TYPE_CHECKING:
    from mislid.certificate.certificate import Certificate
    from mislid.study.session import Session

Label = str | int
RUNNING, DECIDED, CONTRADICTED = "running", "decided", "contradicted"
DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class PlainRecord:
    """A record that can be written as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as values of JSON, which has no infinity: "inf".

        Returns
        -------
        dict
            By their names.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=1.0)
        >>> study.budget_check(200).to_dict()["misspecification"]
        'inf'
        >>> study.add_observations([("a", 0.2), ("b", 1.9)] * 6)
        >>> study.result_now().to_dict()["pairs"]
        [['a', 'b']]
        """
        plain: dict[str, Any] = as_plain(asdict(self))
        return plain

    def _repr_html_(self) -> str:
        """The fields, as notebooks show them."""
        return facts(asdict(self))


@dataclass(frozen=True, slots=True)
class Trial:
    """One measurement to be made.

    Attributes
    ----------
    id
        What to tell the study with the value.
    arm
        The candidate's label.
    features
        Its features (d,), or None where candidates have none.
    worker, expires
        Who asked, and when the lease ends, in seconds since 1970 (None: never).
    study, asked
        Which study handed it out, and when: another one refuses it. None in one made by hand.
    """

    id: int
    arm: Label
    features: Vector | None = field(compare=False, repr=False)
    worker: str | None = None
    expires: float | None = None
    study: str | None = field(default=None, compare=False, repr=False)
    asked: float | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StudyResult:
    """The answer of a study that has decided, and what it rests on.

    Attributes
    ----------
    answer
        The m best candidates, best first.
    samples
        Measurements on which it rests.
    stopping, proven
        The rule that decided, and whether its error rate is proven to be at most delta: not if the
        data refute what was declared.
    statistic, threshold, pair
        The evidence for the pair (challenger, incumbent) that was hardest to tell apart, and what
        it had to reach; 0, 0 and None of a rule written in Python that does not tell.
    observations
        Measurements by now.
    certificate
        The decision as it was made, for anyone to check: `certificate.save(path)` and
        `mislid.verify(path)`. It is worked out when first looked into.
    best_now, agrees
        The m candidates that all measurements by now would put first, and whether they are those of
        the answer. Later data never revoke the answer, corrections may.
    contradictions
        What the data refute of what was declared, in words; then nothing is proven.
    corrections
        Number of corrections in the log.
    """

    answer: tuple[Label, ...]
    samples: int
    stopping: str
    proven: bool
    statistic: float
    threshold: float
    pair: tuple[Label, ...] | None
    observations: int
    best_now: tuple[Label, ...]
    contradictions: tuple[str, ...]
    corrections: int
    certificate: Certificate = field(compare=False, repr=False)

    @property
    def agrees(self) -> bool:
        """Whether later data are for the same answer."""
        return set(self.answer) == set(self.best_now)

    def _repr_html_(self) -> str:
        """The fields, as notebooks show them."""
        return facts({one.name: getattr(self, one.name) for one in fields(self) if one.repr})


@dataclass(frozen=True, slots=True)
class StudySummary:
    """A line about a study.

    Attributes
    ----------
    name, status
        Its name, and "running", "decided", "contradicted" or "damaged".
    m, candidates
        How many of how many candidates are looked for.
    observations, pending
        Measurements by now, and open trials.
    created, updated
        When its log began, and when it last grew, in seconds since 1970.
    stopping
        The name of its stopping rule.
    """

    name: str
    status: str
    m: int
    candidates: int
    observations: int
    pending: int
    created: float
    updated: float
    stopping: str


def as_trial_id(trial: Any) -> int:
    """The id of a trial, or of whatever names one."""
    trial_id = trial.id if isinstance(trial, Trial) else trial
    try:
        if isinstance(trial_id, bool):
            raise TypeError
        number = operator.index(trial_id)
        if abs(number) >= 1 << 63:
            raise TypeError
        return number
    except TypeError:
        raise UnknownTrialError(
            f"trial must be a trial or its id, an integer; got {shown(trial)}"
        ) from None


def result_of(session: Session) -> StudyResult | None:
    """The answer of a study that has decided; None before."""
    from mislid.certificate import Certificate
    from mislid.certificate.certificate import Mended
    from mislid.stopping.rules import stopping_rule_called
    from mislid.study.assumption_tests import in_words
    from mislid.study.settings import is_python

    refuted, state = tuple(session.contradictions().values()), session.state
    decision, labels = state.decision, state.candidates.labels
    if decision is None:
        return None
    # A rule written in Python may tell no evidence, of no pair.
    silent = decision.threshold == 0.0 and is_python(decision.rule)
    engine = session.estimating()
    best = engine.incumbents if engine.is_estimated else decision.answer
    mended = Mended(
        tuple(state.corrections),
        tuple(state.declarations),
        refuted,
        state.roster,
        tuple(state.changes),
    )
    observed = state.observations
    return StudyResult(
        answer=tuple(labels[arm] for arm in decision.answer),
        samples=decision.samples,
        stopping=decision.rule,
        proven=stopping_rule_called(decision.rule).guaranteed and not refuted,
        statistic=decision.statistic,
        threshold=decision.threshold,
        pair=None if silent else tuple(labels[arm] for arm in decision.pair),
        observations=len(observed),
        best_now=tuple(labels[arm] for arm in best),
        contradictions=tuple(in_words(one, state) for one in refuted),
        corrections=len(state.corrections),
        certificate=Certificate(
            session.name, state.settings, state.candidates, decision, observed, mended
        ),
    )
