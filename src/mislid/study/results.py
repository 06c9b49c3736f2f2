"""Records of a study: trials, results and summaries."""

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
    """Base class of records that can be written as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-compatible values; infinity becomes "inf".

        Returns
        -------
        dict
            A map from names to values.

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
        The trial's number, to be passed to `Study.tell` with the value.
    arm
        The candidate's label.
    features
        Its features (d,), or None.
    worker, expires
        The worker who asked, and when the lease ends, in seconds since 1970 (None: never).
    study, asked
        The identity of the study that handed it out, and when; other studies refuse the trial. None
        for trials created by hand.
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
    """The answer of a study that has decided, with its evidence.

    Attributes
    ----------
    answer
        The m best candidates, best first.
    samples
        Number of measurements at the decision.
    stopping, proven
        The stopping rule, and whether its error rate is proven to be at most delta, which is not
        the case if the data refute the declarations.
    statistic, threshold, pair
        The evidence for the pair (challenger, incumbent) with the least evidence, and the required
        evidence; 0, 0 and None for a rule written in Python that reports none.
    observations
        Current number of measurements.
    certificate
        The certificate of the decision, which anyone can check: `certificate.save(path)` and
        `mislid.verify(path)`. It is computed on first access.
    best_now, agrees
        The m candidates with the best estimates from all current measurements, and whether they
        are those of the answer. Later data never revoke the answer; corrections may.
    contradictions
        Sentences on the declarations that the data refute; if there are any, nothing is proven.
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
        """Whether all current measurements favor the same answer."""
        return set(self.answer) == set(self.best_now)

    def _repr_html_(self) -> str:
        """The fields, as notebooks show them."""
        return facts({one.name: getattr(self, one.name) for one in fields(self) if one.repr})


@dataclass(frozen=True, slots=True)
class StudySummary:
    """Summary of a study.

    Attributes
    ----------
    name, status
        The study's name, and "running", "decided", "contradicted" or "damaged".
    m, candidates
        Number of best candidates to find, and number of candidates.
    observations, pending
        Number of measurements, and number of open trials.
    created, updated
        Times of the log's first and last event, in seconds since 1970.
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
    """The id of a trial, given as a `Trial` or as an integer."""
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
    """The result of a study, or None before its decision."""
    from mislid.certificate import Certificate
    from mislid.certificate.certificate import Mended
    from mislid.stopping.rules import stopping_rule_called
    from mislid.study.assumption_tests import in_words
    from mislid.study.settings import is_python

    refuted, state = tuple(session.contradictions().values()), session.state
    decision, labels = state.decision, state.candidates.labels
    if decision is None:
        return None
    # A rule written in Python may report neither evidence nor a pair.
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
