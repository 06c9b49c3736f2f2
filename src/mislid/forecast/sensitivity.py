"""Sensitivity of a study's answer to the misspecification.

All that it states is true on one event, whose probability is 1 - level: docs/checks.md has the
proof. With another stopping rule than `guaranteed` it only states what the data refute.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mislid._formatting import as_frame
from mislid.engine import Engine
from mislid.errors import ProblemError
from mislid.forecast.diagnostics import residuals_of
from mislid.forecast.evidence_summary import Claims
from mislid.stopping.pairs import AnswerEvidence
from mislid.study.results import Label, PlainRecord
from mislid.study.settings import GUARANTEED, UNKNOWN

if TYPE_CHECKING:
    from pandas import DataFrame

# The grid's values in every decade, and its decades.
MANTISSAS, DECADES = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), 3
# Beyond the grid, until the verdict is that of infinity.
DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """What the data say with this misspecification.

    Attributes
    ----------
    misspecification
        The value that takes the place of the declared one.
    answer
        The m candidates that the estimates prefer, best first; None where the estimate could not be
        certified.
    statistic, threshold
        The evidence for the pair that is hardest to tell apart, in nats, and what it has to reach,
        ln(1/level).
    decided
        Whether this answer is proved with it.
    contradicted
        Whether the data contradict the misspecification itself, as being too small. A decision that
        rests on it says nothing then.
    """

    misspecification: float
    answer: tuple[Label, ...] | None
    statistic: float
    threshold: float
    decided: bool
    contradicted: bool


@dataclass(frozen=True, slots=True)
class Sensitivity(PlainRecord):
    """How a study's answer depends on the misspecification.

    Attributes
    ----------
    declared
        The misspecification of the study; its decision is for this one.
    largest
        The largest misspecification up to which the data prove the present answer; None if they do
        for none, infinite if they do without any structure.
    answer
        The answer that this is about, best first; None if `largest` is.
    smallest
        The data refute every misspecification below this.
    level
        `largest` and `smallest` are right, at all times and for all misspecifications at once,
        with probability 1 - level. Where infinity was declared and decided at, the decision is
        another event: 1 - 2 level together.
    table
        One row per value of a grid with 0, the declared one and infinity; empty before the first
        design is measured, and with another rule than `guaranteed`.
    proven
        Whether the rule is `guaranteed`, and the data do not contradict the declared noise.
    """

    declared: float
    largest: float | None
    answer: tuple[Label, ...] | None
    smallest: float
    level: float
    table: tuple[SensitivityRow, ...]
    proven: bool = False

    def to_frame(self) -> DataFrame:
        """`table`, for pandas.

        Returns
        -------
        pandas.DataFrame
            A row for every value of the grid, with the fields of `SensitivityRow` as columns.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.

        Examples
        --------
        The evidence falls with the misspecification; at an error rate of 0.05 it has to reach 3.

        >>> from mislid import create_study
        >>> doses = {1: [1.0], 2: [2.0], 4: [4.0], 8: [8.0]}
        >>> study = create_study(candidates=doses, m=1, misspecification=0.2, noise=0.2)
        >>> study.add_observations([(1, 0.1), (2, 0.5), (4, 0.3), (8, 0.9)] * 6)
        >>> table = study.sensitivity().to_frame()
        >>> near = table[table.misspecification.between(0.06, 0.2)]
        >>> [(row.misspecification, round(row.statistic, 1)) for row in near.itertuples()]
        [(0.07, 6.1), (0.1, 4.1), (0.15, 1.4), (0.2, 1.4)]
        """
        names = [field.name for field in fields(SensitivityRow)]
        return as_frame([astuple(row) for row in self.table], names)

    @property
    def statement(self) -> str:
        """What the data prove, and what they refute, in a sentence."""
        if not self.proven:
            words = "nothing is proved"
        elif self.largest is None:
            words = "proved for no misspecification, not even for 0"
        elif math.isinf(self.largest):
            words = "proved for every misspecification"
        else:
            words = f"proved for every misspecification up to {self.largest:.3g}"
        if self.smallest > 0.0:
            words += f"; the data refute any below {self.smallest:.3g}"
            if self.proven and self.largest is not None and self.largest <= self.smallest:
                words += ", so nothing is proved for those that are left"
        return words


class _Verdict(NamedTuple):
    """The preferred arms, best first, and their evidence."""

    arms: tuple[int, ...] | None
    statistic: float
    threshold: float
    decided: bool


class _Dial:
    """Verdicts on the same data for other misspecifications."""

    def __init__(self, claims: Claims, judge: Callable[[float], _Verdict]) -> None:
        self.engine = claims.engine
        self._judge = judge
        self._verdicts: dict[float, _Verdict] = {}
        self.values = self._grid(_reach(claims.engine))

    def at(self, misspecification: float) -> _Verdict:
        """The verdict for this misspecification."""
        if misspecification not in self._verdicts:
            self._verdicts[misspecification] = self._judge(misspecification)
        return self._verdicts[misspecification]

    def _grid(self, reach: float) -> list[float]:
        """Round values up to where structure is worth nothing, and on to what infinity gives."""
        declared = self.engine.question.model.misspecification
        first = math.floor(math.log10(reach)) - DECADES
        powers = range(first, first + DECADES + 2)
        finite = [float(f"{a}e{power}") for power in powers for a in MANTISSAS]
        count = sum(value < reach for value in finite) + 1
        finite = sorted({0.0, *finite[:count], *([declared] if math.isfinite(declared) else [])})
        for _ in range(DOUBLINGS):
            if _same(self.at(finite[-1]), self.at(math.inf)):
                break
            finite.append(2.0 * finite[-1])
        return [*finite, math.inf]


def _same(one: _Verdict, other: _Verdict) -> bool:
    sets = (None if verdict.arms is None else frozenset(verdict.arms) for verdict in (one, other))
    return next(sets) == next(sets) and one.decided == other.decided


def _reach(engine: Engine) -> float:
    """A misspecification that allows for any order of two empirical means."""
    seen, features = engine.counts > 0, engine.question.model.features
    means = engine.means[seen]
    fit = features[seen] @ np.linalg.lstsq(features[seen], means, rcond=None)[0]
    reach = float(np.max(np.abs(means - fit)) + np.ptp(means)) + engine.question.tolerance
    return reach if reach > 0.0 else float(np.min(engine.question.noise))


def _asked_with(engine: Engine, misspecification: float) -> Engine:
    """The same data, as if it had been asked with this misspecification."""
    question = engine.question
    model = question.model.with_misspecification(misspecification)
    other = Engine(question.replace(model=model), engine.algorithm, engine.stopping)
    other.reset(engine.counts, engine.sums, scatter=engine.scatter)
    return other


class _Proofs:
    """What one M proves of any answer, at any misspecification."""

    def __init__(self, claims: Claims, level: float) -> None:
        self.claims, self.level = claims, -math.log(level)
        self._pairs: dict[frozenset[int], AnswerEvidence] = {}

    def pairs_of(self, answer: tuple[int, ...]) -> AnswerEvidence:
        """The evidence for an answer."""
        key = frozenset(answer)
        if key not in self._pairs:
            # Features have a weight here, also where the study's own M gives them none.
            self._pairs[key] = self.claims.pairs_of(answer, structured=True)
        return self._pairs[key]

    def judge(self, misspecification: float) -> _Verdict:
        """The preferred answer, and whether it is proved."""
        other = _asked_with(self.claims.engine, misspecification)
        other.judge(test=False)
        if not other.is_estimated:
            return _Verdict(None, 0.0, self.level, decided=False)
        found = self.pairs_of(other.incumbents).weakest(misspecification)
        return _Verdict(other.incumbents, found, self.level, decided=found >= self.level)

    def reach(self, answer: tuple[int, ...]) -> float | None:
        """Up to where an answer is proved."""
        return self.pairs_of(answer).reach(self.level)

    def refuted_by_two(self, dial: _Dial, largest: float | None) -> float:
        """Up to where two answers are proved: no model has both, so there is none.

        With a tolerance two answers can be right.
        """
        if largest is None or self.claims.engine.question.tolerance > 0.0:
            return 0.0
        own = frozenset(self.claims.answer)
        verdicts = (dial.at(value) for value in dial.values)
        others = {
            frozenset(verdict.arms)
            for verdict in verdicts
            if verdict.decided and verdict.arms is not None
        }
        reaches = (self.reach(tuple(other)) for other in others - {own})
        return max((min(largest, reach) for reach in reaches if reach is not None), default=0.0)


def proved_range(claims: Claims) -> tuple[float | None, float]:
    """Up to which misspecification the present answer is proved, and below which all are refuted.

    As `largest` and `smallest` of `sensitivity_of`, in a fraction of the time; two proved answers
    are not looked for.
    """
    engine, level = claims.engine, claims.engine.question.delta
    if not claims.answer or not np.all(engine.counts[engine.design] > 0):
        return None, 0.0
    largest = _Proofs(claims, level).reach(claims.answer)
    return largest, residuals_of(engine).least(level)


def sensitivity_of(claims: Claims, level: float | None = None) -> Sensitivity:
    """Sensitivity by the data that there are by now; the level is delta unless given."""
    engine, labels = claims.engine, claims.candidates.labels
    if claims.candidates.features is None:
        raise ProblemError(
            "sensitivity needs candidates with features: without them nothing is assumed to be "
            "linear, and there is no misspecification to vary"
        )
    if engine.question.noise_model == UNKNOWN:
        raise ProblemError(
            "sensitivity needs to know something of the noise: where it is unknown, features prove "
            "nothing, and an answer holds for every misspecification. Begin a study with another "
            "noise to have it, and add the observations of this one"
        )
    level = engine.question.delta if level is None else level
    proven = engine.stopping.name == GUARANTEED
    if not np.all(engine.counts[engine.design] > 0):
        return Sensitivity(claims.declared, None, None, 0.0, level, (), proven)
    smallest = residuals_of(engine).least(level)
    if not proven:
        return Sensitivity(claims.declared, None, None, smallest, level, (), proven)
    proofs = _Proofs(claims, level)
    dial = _Dial(claims, proofs.judge)
    largest = proofs.reach(claims.answer) if claims.answer else None
    smallest = max(smallest, proofs.refuted_by_two(dial, largest))
    if math.isinf(claims.declared) and claims.is_proved(level):
        largest = math.inf  # by the study's own M, where that is another one

    def named(arms: tuple[int, ...] | None) -> tuple[Label, ...] | None:
        return None if arms is None else tuple(labels[arm] for arm in arms)

    def row(misspecification: float) -> SensitivityRow:
        arms, statistic, threshold, decided = dial.at(misspecification)
        contradicted = misspecification < smallest
        return SensitivityRow(
            misspecification, named(arms), statistic, threshold, decided, contradicted
        )

    return Sensitivity(
        declared=claims.declared,
        largest=largest,
        answer=None if largest is None else named(claims.answer),
        smallest=smallest,
        level=level,
        table=tuple(row(misspecification) for misspecification in dial.values),
        proven=True,
    )
