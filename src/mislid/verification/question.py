"""The question: candidates, what is declared of their means and noise, and changes since."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mislid.verification.reading import MOST_ENTRIES, Failure, Label, Matrix, Value, Vector

KNOWN, UNKNOWN, EQUAL, BERNOULLI, RANGE = (
    "known", "unknown", "unknown-equal", "bernoulli", "range",
)  # fmt: skip
SIGNS = {"maximize": 1.0, "minimize": -1.0}
# Shares of the parts of M, and of the families in the main part where features exist.
MAIN, PAIRS, LATE = Fraction(80, 100), Fraction(10, 100), Fraction(5, 100)
TWO_ARMS, LINEAR, DIAGONAL = "two arms", "linear", "diagonal"
SHARES = {TWO_ARMS: Fraction(78, 100), LINEAR: Fraction(19, 100), DIAGONAL: Fraction(3, 100)}


@dataclass(frozen=True)
class Noise:
    """What is declared of the noise; the range of values is in the sign where more is better.

    Standard deviations (R,) are 1 where they are unknown, half the range where there is one.
    """

    kind: str
    sd: Vector
    low: float
    high: float

    @property
    def has_bets(self) -> bool:
        """Whether pairs are proved by bets on values within a range."""
        return self.kind in (BERNOULLI, RANGE)


@dataclass(frozen=True)
class Question:
    """Which m candidates are best, and what is declared.

    Attributes
    ----------
    labels
        The register: R candidates in the order of their arrival, K of them of the first day.
    arrived
        The number of entries of data before each of them came (R,).
    left
        Indices of those that left.
    features
        (R, n), or None.
    eps
        The misspecification; infinite where features prove nothing.
    sign
        1, or -1 where less is better.
    corrected, redeclared
        How many values were corrected, and what was declared again.
    """

    name: str
    head: str | None
    labels: list[Label]
    K: int
    arrived: list[int]
    left: frozenset[int]
    features: Matrix | None
    m: int
    delta: float
    tol: float
    sign: float
    eps: float
    noise: Noise
    corrected: int
    redeclared: list[str]

    @property
    def R(self) -> int:
        """How many candidates ever took part."""
        return len(self.labels)

    @property
    def structured(self) -> bool:
        """Whether features have a weight in M."""
        return self.features is not None and self.noise.kind != UNKNOWN

    @property
    def linear(self) -> bool:
        """Whether features can prove anything."""
        return self.structured and math.isfinite(self.eps)

    def share(self, family: str) -> Fraction:
        """The weight in M of a family that does not depend on the pair."""
        return MAIN * SHARES[family]

    def share_of_pair(self, i: int, j: int) -> Fraction:
        """The weight in M of the process that displaces j up and i down."""
        K, m, n = self.K, self.m, max(i, j) - self.K + 1
        if n > 0:
            return LATE * Fraction(9, 10) / (2 * n * (n + 1) * (K + n - 1))
        found = PAIRS * 2 / (K * (K - 1))
        if self.R == K and not self.left:
            own = SHARES[TWO_ARMS] if self.structured else Fraction(1)
            found += MAIN * own / (m * (K - m))
        return found


def read_question(study: Value, given: Value, changes: Value, entries: int) -> Question:
    """The question as it is now, for so many entries of data."""
    about = study.parts("name", "head")
    head = None if about["head"].absent else about["head"].text()
    if head is not None and (len(head) != 64 or set(head) - set("0123456789abcdef")):
        raise about["head"].fail("64 hexadecimal digits")
    parts = given.parts(
        "labels", "features", "m", "delta", "tolerance", "direction", "misspecification", "noise"
    )
    labels = [one.label() for one in parts["labels"].entries()]
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise parts["labels"].fail("at least two labels that differ")
    K = len(labels)
    sign = SIGNS[parts["direction"].text(*SIGNS)]
    noise, deviations = _read_noise(parts["noise"], K, sign)
    rows = [] if parts["features"].absent else [parts["features"].matrix(K)]
    register = _Register(labels, rows, deviations, entries)
    for change in changes.entries():
        register.change(change)
    R, m = len(register.labels), parts["m"].whole(1, K - 1)
    if not R - len(register.left) > m:
        raise Failure(f"changes must leave more than question.m = {m} candidates")
    features = np.concatenate(rows) if rows else None
    eps = math.inf
    if not parts["misspecification"].absent:
        eps = parts["misspecification"].number(0.0)
        if features is None:
            raise parts["misspecification"].fail("null without features")
    tol = parts["tolerance"].number(0.0)
    if not tol < noise.high - noise.low:
        raise parts["tolerance"].fail("less than the range of values")
    return Question(
        name=about["name"].text(),
        head=head,
        labels=register.labels,
        K=K,
        arrived=register.arrived,
        left=frozenset(register.left),
        features=features,
        m=m,
        delta=parts["delta"].number(0.0, math.nextafter(1.0, 0.0), above=True),
        tol=tol,
        sign=sign,
        eps=eps,
        noise=Noise(noise.kind, np.array(register.deviations), noise.low, noise.high),
        corrected=register.corrected,
        redeclared=register.redeclared,
    )


def _read_noise(given: Value, K: int, sign: float) -> tuple[Noise, list[float]]:
    """The noise, and the first day's standard deviations (K,)."""
    kind = given.kind(KNOWN, UNKNOWN, EQUAL, BERNOULLI, RANGE)
    if kind == KNOWN:
        parts = given.parts("kind", "sd")
        deviations = parts["sd"].vector(low=SMALLEST_SD).tolist()
        if len(deviations) not in (1, K):
            raise parts["sd"].fail(f"a list of one number, or of {K}")
        return Noise(kind, np.zeros(0), -math.inf, math.inf), deviations * (K // len(deviations))
    if kind in (UNKNOWN, EQUAL):
        given.parts("kind")
        return Noise(kind, np.zeros(0), -math.inf, math.inf), [1.0] * K
    low, high = 0.0, 1.0
    if kind == RANGE:
        parts = given.parts("kind", "low", "high")
        low, high = parts["low"].number(), parts["high"].number()
        if not high - low > SMALLEST_SD:
            raise given.fail("a range from the least to the largest value")
    else:
        given.parts("kind")
    deviations = [0.5 * (high - low)] * K
    if sign < 0.0:
        low, high = -high, -low
    return Noise(kind, np.zeros(0), low, high), deviations


# Squares of values over the noise are to be numbers.
SMALLEST_SD = 1e-70


class _Register:
    """Candidates as they came and left."""

    def __init__(
        self, labels: list[Label], rows: list[Matrix], deviations: list[float], entries: int
    ) -> None:
        self.labels, self.rows, self.deviations = list(labels), rows, deviations
        self.entries, self.arrived = entries, [0] * len(labels)
        self.left: set[int] = set()
        self.present = {label: k for k, label in enumerate(labels)}
        self.corrected, self.redeclared = 0, list[str]()

    def change(self, given: Value) -> None:
        """One entry of the changes."""
        kind = given.kind("add", "leave", "redeclare", "correct")
        names = {"add": ("labels", "features", "sd"), "leave": ("label",)}
        names |= {"redeclare": ("what",), "correct": ("values",)}
        parts = given.parts("after", "kind", *names[kind])
        after = parts["after"].whole(0, self.entries)
        if kind == "add":
            self._add(parts, after)
        elif kind == "leave":
            label = parts["label"].label()
            if label not in self.present:
                raise parts["label"].fail("the label of a candidate")
            self.left.add(self.present.pop(label))
        elif kind == "redeclare":
            self.redeclared.append(parts["what"].text("noise", "misspecification"))
        else:
            self.corrected += parts["values"].whole(0, MOST_ENTRIES)

    def _add(self, parts: dict[str, Value], after: int) -> None:
        labels = [one.label() for one in parts["labels"].entries()]
        n, uneven = len(labels), len(set(self.deviations)) > 1
        if set(labels) & set(self.labels) or len(set(labels)) < n or n == 0:
            raise parts["labels"].fail("labels that no other candidate has or had")
        if self.rows:
            self.rows.append(parts["features"].matrix(n, self.rows[0].shape[1]))
        elif not parts["features"].absent:
            raise parts["features"].fail("null without features")
        if parts["sd"].absent and not uneven:
            self.deviations += self.deviations[:1] * n
        else:
            self.deviations += parts["sd"].vector(n, SMALLEST_SD).tolist()
        self.present |= {label: k for k, label in enumerate(labels, len(self.labels))}
        self.labels += labels
        self.arrived += [after] * n


@dataclass(frozen=True)
class Claim:
    """An answer, and of each of its pairs (challenger, incumbent) by what it was settled when."""

    answer: list[int]
    pairs: list[tuple[int, int]]
    families: list[str]
    times: list[int]

    def grouped(self) -> dict[int, dict[str, list[int]]]:
        """Numbers of pairs, by time and family."""
        found: dict[int, dict[str, list[int]]] = {}
        for n, (time, family) in enumerate(zip(self.times, self.families, strict=True)):
            found.setdefault(time, {}).setdefault(family, []).append(n)
        return found


def read_claim(given: Value, question: Question, entries: int) -> Claim:
    """The claim has every pair of its answer once, or is empty."""
    parts = given.parts("answer", "pairs")
    index = {
        label: k for k, label in enumerate(question.labels) if k not in question.left
    }
    answer = list[int]()
    for one in parts["answer"].entries():
        if one.label() not in index:
            raise one.fail("the label of a candidate that did not leave")
        answer.append(index[one.label()])
    if answer and (len(answer) != question.m or len(set(answer)) < len(answer)):
        raise parts["answer"].fail(f"{question.m} different candidates, or empty")
    wanted = {(i, j) for i in index.values() for j in answer} if answer else set()
    wanted = {(i, j) for i, j in wanted if i not in answer}
    families = (TWO_ARMS, LINEAR, DIAGONAL) if question.linear else (TWO_ARMS,)
    found = Claim(answer, [], [], [])
    for pair, family, time in _read_pairs(parts["pairs"], question.R, entries, families):
        found.pairs.append(pair)
        found.families.append(family)
        found.times.append(time)
        if pair not in wanted:
            n = len(found.pairs) - 1
            raise Failure(
                f"claim.pairs[{n}] must be of a candidate outside the answer and one inside, "
                f"once; got {pair[0]} and {pair[1]}"
            )
        wanted.remove(pair)
    if wanted:
        raise Failure(f"claim.pairs must have every pair of the answer; {len(wanted)} are missing")
    return found


def _read_pairs(
    given: Value, R: int, entries: int, families: tuple[str, ...]
) -> Iterator[tuple[tuple[int, int], str, int]]:
    for entry in given.entries():
        i, j, family, after = entry.entries(4)
        pair = i.whole(0, R - 1), j.whole(0, R - 1)
        yield pair, family.text(*families), after.whole(1, entries)
