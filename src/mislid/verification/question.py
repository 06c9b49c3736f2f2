"""The question: candidates, what is declared of their means and noise, and changes since."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

import numpy as np

from mislid.verification.reading import MOST_ENTRIES, Failure, Label, Matrix, Value, Vector

SIGNS = {"maximize": 1.0, "minimize": -1.0}
# Squares of values over the noise are to be numbers.
LEAST_NOISE = 1e-70


class Kind(StrEnum):
    """What is declared of the noise."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    EQUAL = "unknown-equal"
    BERNOULLI = "bernoulli"
    RANGE = "range"


class By(StrEnum):
    """Families of displacements."""

    TWO_ARMS = "two arms"
    LINEAR = "linear"
    DIAGONAL = "diagonal"


# Shares of the parts of M, and of the families in the main part where features exist.
MAIN, PAIRS, LATE = Fraction(80, 100), Fraction(10, 100), Fraction(5, 100)
SHARES = {
    By.TWO_ARMS: Fraction(78, 100),
    By.LINEAR: Fraction(19, 100),
    By.DIAGONAL: Fraction(3, 100),
}


@dataclass
class Question:
    """Which m candidates are best, and what is declared.

    Attributes
    ----------
    index
        The register: labels of R candidates in the order of their arrival, and their indices. K of
        them are of the first day.
    deviations, even
        Of the noise (R), 1 where they are unknown, half the range where there is one; and whether
        those of the first day are one number.
    low, high
        The range of values, in the sign where more is better.
    sign
        1, or -1 where less is better.
    eps
        The misspecification; infinite where features prove nothing.
    arrived
        The number of entries of data before each candidate came (R).
    blocks, features
        Features (R, n) as they came, and all of them if they can prove anything.
    left
        Labels of those that left.
    corrected, redeclared
        How many values were corrected, and what was declared again.
    """

    index: dict[Label, int]
    K: int
    m: int
    delta: float
    tol: float
    sign: float
    kind: str
    deviations: list[float]
    even: bool = True
    low: float = -math.inf
    high: float = math.inf
    eps: float = math.inf
    blocks: list[Matrix] = field(default_factory=list)
    features: Matrix | None = None
    arrived: list[int] = field(default_factory=list)
    left: set[Label] = field(default_factory=set)
    corrected: int = 0
    redeclared: set[str] = field(default_factory=set)

    @property
    def R(self) -> int:
        """How many candidates ever took part."""
        return len(self.index)

    @property
    def noise(self) -> Vector:
        """The standard deviations (R,)."""
        return np.array(self.deviations)

    @property
    def has_bets(self) -> bool:
        """Whether pairs are proved by bets on values within a range."""
        return self.kind in (Kind.BERNOULLI, Kind.RANGE)

    @property
    def structured(self) -> bool:
        """Whether features have a weight in M."""
        return bool(self.blocks) and self.kind != Kind.UNKNOWN

    def share(self, by: By, i: int, j: int) -> Fraction:
        """The weight in M of what is a family's evidence that j is not worse than i."""
        if by != By.TWO_ARMS:
            return MAIN * SHARES[by]
        K, m, n = self.K, self.m, max(i, j) - self.K + 1
        if n > 0:
            return LATE * Fraction(9, 10) / (2 * n * (n + 1) * (K + n - 1))
        found = PAIRS * 2 / (K * (K - 1))
        if self.R == K and not self.left:
            own = SHARES[By.TWO_ARMS] if self.structured else Fraction(1)
            found += MAIN * own / (m * (K - m))
        return found


def read_question(given: Value, changes: Value, entries: int) -> Question:
    """The question as it is now, for so many entries of data."""
    parts = given.parts(
        "labels", "features", "m", "delta", "tolerance", "direction", "misspecification", "noise"
    )
    labels = [one.label() for one in parts["labels"].entries()]
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise parts["labels"].fail("at least two labels that differ")
    K = len(labels)
    kind = parts["noise"].kind(*Kind)
    question = Question(
        index={label: k for k, label in enumerate(labels)},
        K=K,
        m=parts["m"].whole(1, K - 1),
        delta=parts["delta"].number(0.0, math.nextafter(1.0, 0.0), above=True),
        tol=parts["tolerance"].number(0.0),
        sign=SIGNS[parts["direction"].text(*SIGNS)],
        kind=kind,
        deviations=[1.0] * K,
        blocks=[] if parts["features"].absent else [parts["features"].matrix(K)],
        arrived=[0] * K,
    )
    _read_noise(parts["noise"], question)
    if not parts["misspecification"].absent:
        question.eps = parts["misspecification"].number(0.0)
        if not question.blocks:
            raise parts["misspecification"].fail("null without features")
    if not question.tol < question.high - question.low:
        raise parts["tolerance"].fail("less than the range of values")
    for change in changes.entries():
        _read_change(change, question, entries)
    if not question.R - len(question.left) > question.m:
        raise Failure(f"changes must leave more than question.m = {question.m} candidates")
    if question.structured and math.isfinite(question.eps):
        question.features = np.concatenate(question.blocks)
    return question


def _read_noise(given: Value, question: Question) -> None:
    names = {Kind.KNOWN: ("sd",), Kind.RANGE: ("low", "high")}.get(Kind(question.kind), ())
    parts, K = given.parts("kind", *names), question.K
    if question.kind == Kind.KNOWN:
        found = parts["sd"].vector(low=LEAST_NOISE).tolist()
        if len(found) not in (1, K):
            raise parts["sd"].fail(f"a list of one number, or of {K}")
        question.deviations, question.even = found * (K // len(found)), len(found) == 1
    elif question.has_bets:
        low, high = 0.0, 1.0
        if question.kind == Kind.RANGE:
            low, high = parts["low"].number(), parts["high"].number()
        if not high - low > LEAST_NOISE:
            raise given.fail("a range from the least to the largest value")
        question.deviations = [0.5 * (high - low)] * K
        question.low, question.high = sorted((question.sign * low, question.sign * high))


def _read_change(given: Value, question: Question, entries: int) -> None:
    names = {"add": ("labels", "features", "sd"), "leave": ("label",)}
    names |= {"redeclare": ("what",), "correct": ("values",)}
    kind = given.kind(*names)
    parts = given.parts("after", "kind", *names[kind])
    after = parts["after"].whole(0, entries)
    if kind == "add":
        _add(parts, question, after)
    elif kind == "leave":
        label = parts["label"].label()
        if label not in question.index or label in question.left:
            raise parts["label"].fail("the label of a candidate")
        question.left.add(label)
    elif kind == "redeclare":
        question.redeclared.add(parts["what"].text("noise", "misspecification"))
    else:
        question.corrected += parts["values"].whole(0, MOST_ENTRIES)


def _add(parts: dict[str, Value], question: Question, after: int) -> None:
    for one in parts["labels"].entries():
        label = one.label()
        if label in question.index:
            raise one.fail("a label that no other candidate has or had")
        question.index[label] = question.R
    n = question.R - len(question.arrived)
    if question.blocks:
        question.blocks.append(parts["features"].matrix(n, question.blocks[0].shape[1]))
    elif not parts["features"].absent:
        raise parts["features"].fail("null without features")
    if not parts["sd"].absent and question.kind == Kind.KNOWN:
        question.deviations += parts["sd"].vector(n, LEAST_NOISE).tolist()
    elif parts["sd"].absent and question.even:
        question.deviations += question.deviations[:1] * n
    else:
        raise parts["sd"].fail(f"a list of {n} where every candidate has its own, else null")
    question.arrived += [after] * n


# Of a time and a family: numbers of pairs in the file, challengers and incumbents.
Pairs = dict[int, dict[By, list[tuple[int, int, int]]]]


def read_claim(given: Value, question: Question, entries: int) -> tuple[list[int], Pairs]:
    """The answer and every pair of it, by the time and the family that settled it, or nothing."""
    parts = given.parts("answer", "pairs")
    index = {label: k for label, k in question.index.items() if label not in question.left}
    answer = list[int]()
    for one in parts["answer"].entries():
        label = one.label()
        if label not in index:
            raise one.fail("the label of a candidate that did not leave")
        answer.append(index[label])
    if answer and (len(answer) != question.m or len(set(answer)) < len(answer)):
        raise parts["answer"].fail(f"{question.m} different candidates, or empty")
    missing = (len(index) - len(answer)) * len(answer)
    given_pairs = parts["pairs"].entries(missing)
    wanted = {(i, j) for i in index.values() if i not in answer for j in answer}
    families = By if question.features is not None else (By.TWO_ARMS,)
    found: Pairs = {}
    for n, entry in enumerate(given_pairs):
        first, second, family, after = entry.entries(4)
        pair = first.whole(0, question.R - 1), second.whole(0, question.R - 1)
        if pair not in wanted:
            raise entry.fail("a candidate outside the answer and one inside, which comes once")
        wanted.remove(pair)
        time, by = after.whole(1, entries), By(family.text(*families))
        found.setdefault(time, {}).setdefault(by, []).append((n, *pair))
    return answer, found
