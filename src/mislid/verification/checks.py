"""Checks of a certificate, in order, up to the first failure.

The evidence against a misspecification is that of displacements of every arm, in M itself, against
the nearest model of the tube. The evidence against the noise is a mixture of likelihood ratios of
larger variances. `docs/checks.md` derives both.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from mislid.verification import evidence
from mislid.verification import intervals as iv
from mislid.verification.evidence import Question
from mislid.verification.families import DIAGONAL, Family, Moment, summed
from mislid.verification.geometry import Duality
from mislid.verification.intervals import Interval, exactly
from mislid.verification.question import (
    Candidates,
    Data,
    Settings,
    read_candidates,
    read_model,
    read_moment,
    read_now,
    read_settings,
)
from mislid.verification.reading import (
    EQUAL,
    Failure,
    Label,
    Saved,
    Value,
    Vector,
    read_certificate,
    refuse_difference,
    sha256_of,
)
from mislid.verification.variances import Cells

SCHEMA, VERSION = "mislid-certificate", 3
_PARTS = (
    "schema", "version", "study", "versions", "candidates", "settings", "data", "model", "times",
    "decision", "evidence", "now", "tests", "log", "seal",
)  # fmt: skip
# What became of candidates, and what rounding may add to an error rate that was divided for it.
ADDED, LEFT, RETIRED = "added", "left", "retired"
ROUNDING = Fraction(1, 10**15)


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of checking a certificate.

    Attributes
    ----------
    ok
        Whether everything holds.
    failure
        The first thing that does not hold, or None.
    checks
        What was derived again and holds, in order.
    answer
        The answer that the certificate claims, best first; empty where it does not hold.
    rule, proven
        The stopping rule, and whether the error rate is proved to be at most delta: it is unless
        the data refute what was declared. None where the answer does not hold.

    Examples
    --------
    A certificate that claims more measurements than it has:

    >>> import mislid
    >>> study = mislid.create_study(candidates=["a", "b"], m=1, noise=0.1)
    >>> study.add_observations([("a", 0.2), ("b", 0.9)] * 5)
    >>> certificate = study.result.certificate.to_dict()
    >>> mislid.verify(certificate).to_dict()["answer"]
    ['b']
    >>> certificate["data"]["samples"] = 1000
    >>> found = mislid.verify(certificate)
    >>> bool(found), found.failure
    (False, 'data.samples must be the sum of data.counts, 10; got 1000')
    """

    ok: bool
    failure: str | None
    checks: tuple[str, ...]
    answer: tuple[Label, ...]
    rule: str | None
    proven: bool | None

    def __bool__(self) -> bool:
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """The verification as values of JSON.

        Returns
        -------
        dict
            The attributes by name.
        """
        return {**asdict(self), "checks": list(self.checks), "answer": list(self.answer)}


@dataclass(slots=True)
class _Trail:
    """Checks that were passed, and what they established."""

    checks: list[str] = field(default_factory=list)
    answer: tuple[Label, ...] = ()
    rule: str | None = None
    stands: bool = True  # what was declared

    def end(self, failure: str | None) -> Verification:
        proven = None if self.rule is None else self.stands
        return Verification(
            failure is None, failure, tuple(self.checks), self.answer, self.rule, proven
        )


def verify(certificate: str | os.PathLike[str] | Mapping[str, Any] | Saved) -> Verification:
    """Check the certificate of a study's decision.

    The first thing that is wrong, with the file or in it, is the verification's `failure`. Interval
    arithmetic bounds all rounding, so what holds here holds in exact arithmetic.

    Parameters
    ----------
    certificate
        A study's certificate, the path of a file that `Certificate.save` wrote, or what
        `Certificate.to_dict` gives.

    Returns
    -------
    Verification
        True in a condition where everything holds.

    Raises
    ------
    MemoryError
        There is no room for the numbers of the certificate.

    Examples
    --------
    >>> verify({"schema": "mislid-certificate", "version": 3}).failure
    'study is missing'
    """
    trail = _Trail()
    try:
        with np.errstate(all="ignore"):
            _check_all(read_certificate(certificate), trail)
    except Failure as failure:
        return trail.end(str(failure))
    except (np.linalg.LinAlgError, ArithmeticError, ValueError, RecursionError) as error:
        after = trail.checks[-1] if trail.checks else "the beginning"
        return trail.end(f"numbers are too large, too small or too alike after {after}: {error}")
    return trail.end(None)


def _check_all(whole: Value, trail: _Trail) -> None:
    parts = _read_parts(whole)
    trail.checks.append("schema")
    candidates = read_candidates(parts["candidates"])
    trail.checks.append("candidates")
    settings = read_settings(parts["settings"], candidates)
    trail.checks.append("settings")
    data = read_moment(parts["data"], candidates, settings)
    trail.checks.append("data")
    question = Question(candidates, settings, read_model(parts["model"], candidates, settings.eps))
    trail.checks.append("model")
    times = evidence.read_times(parts["times"], question, data)
    trail.checks.append("times")
    decision = evidence.read_decision(parts["decision"], question)
    trail.answer, trail.rule = decision.answer, settings.stopping
    trail.checks.append("answer")
    evidence.check_evidence(parts["evidence"], question, times, decision)
    trail.checks.append("evidence of every pair")
    trail.stands = _check_declared(parts, question, data)
    if decision.proven.flag() != trail.stands:
        wanted = "true" if trail.stands else "false: the data refute what was declared"
        raise decision.proven.fail(wanted)
    trail.checks.append("what was declared")
    _check_seal(parts["seal"], whole.given)
    trail.checks.append("seal")


def _check_declared(parts: dict[str, Value], question: Question, data: Data) -> bool:
    """Whether what was declared stands, by all data and by what was found before."""
    settings = question.settings
    now, squares = read_now(parts["now"], question.candidates, settings)
    evidence.refuse_loss(data, now, "data", settings)
    if squares is not None:
        evidence.refuse_too_calm(data, now, squares, "now.squares")
    moment = Moment(question.model, now.exact, now.weights, now.lost)
    tests = check_tests(parts["tests"], settings, moment, now, squares, question.families)
    return tests and _read_log(parts["log"], question)


def _read_log(given: Value, question: Question) -> bool:
    """What happened besides measurements; whether nothing was contradicted."""
    more: tuple[str, ...] = ()
    if isinstance(given.given, Mapping) and "changes" in given.given:
        more = ("changes", "promised")
    log = given.parts("corrections", "declarations", "contradictions", *more)
    log["corrections"].entries()
    log["declarations"].entries()
    late = None if question.candidates.features is None else question.model.late
    if more:
        settings = question.settings
        check_changes(log["changes"], log["promised"], question.candidates, settings, late)
        if settings.noise_model.is_equal and np.isin(question.model.spanner, late or ()).any():
            raise Failure(
                "model.spanner must be of candidates that were there from the beginning where they "
                "share a noise that is not known"
            )
    elif late:
        raise Failure("model.late must be those that log.changes has added; there are none")
    return not log["contradictions"].entries()


def _read_parts(whole: Value) -> dict[str, Value]:
    """The parts of a certificate."""
    if not isinstance(whole.given, Mapping):
        raise whole.fail("an object")
    # A file of another kind or version may well have other parts.
    Value(whole.given.get("schema"), "schema").text(SCHEMA)
    given = Value(whole.given.get("version"), "version")
    if given.whole(1) != VERSION:
        raise given.fail(f"{VERSION}, the version that this release checks")
    parts = whole.parts(*_PARTS)
    parts["study"].text()
    for release in parts["versions"].parts("mislid", "numpy", "python").values():
        release.text()
    return parts


def _check_seal(seal: Value, whole: Mapping[str, Any]) -> None:
    """Nothing at all was changed."""
    if seal.text() != sha256_of({key: whole[key] for key in whole if key != "seal"}):
        raise Failure(
            "seal must be the hash of all the rest: something was changed that the decision does "
            "not depend on, such as a name or a version"
        )


def check_changes(
    changes: Value,
    promised: Value,
    candidates: Candidates,
    settings: Settings,
    late: tuple[int, ...] | None,
) -> None:
    """The error rate that is left is at most what was promised, divided; who is late is known.

    It is divided for candidates that came or left: `docs/changing.md` has the proof. With n of
    them, A of them new, K in the question and R that were ever in the study, delta is what was
    promised over n (n + 1)^2 C(R, n - A) and, if A > 0, over K (K - 1) / (m (K - m)), rounded up.
    """
    came: set[Label] = set()
    gone: set[Label] = set()
    for entry in changes.entries():
        parts = entry.parts("event", "kind", "labels", "reason")
        kind = parts["kind"].text(ADDED, LEFT, RETIRED)
        labels = [one.label() for one in parts["labels"].entries()]
        if len(labels) != len(set(labels)) or (kind != ADDED and len(labels) != 1):
            raise parts["labels"].fail("one label, or for added ones labels that differ")
        if kind == ADDED:
            came |= set(labels)
        if kind == LEFT:
            gone |= set(labels)
    present = {candidates.labels[k] for k in late or ()}
    if late is not None and present != came - gone:
        raise Failure("model.late must be those that log.changes has added")
    new, n = len(came), len(came) + len(gone)
    price = 1
    if n > 0:
        ever = candidates.K + len(gone)
        K, m = candidates.K, settings.m
        pairs = -(-K * (K - 1) // (m * (K - m))) if new else 1
        price = n * (n + 1) ** 2 * pairs * math.comb(ever, len(gone))
    rate = promised.number(0.0, above=True)
    if not rate < 1.0:
        raise promised.fail("below 1")
    share = Fraction(rate) / price
    if not Fraction(settings.delta) <= share * (1 + ROUNDING):
        raise promised.fail(f"at least {price} times settings.delta, for log.changes")


MISSPECIFICATION, NOISE = "misspecification", "noise"
# How often noise that was declared rightly is refuted.
NOISE_LEVEL = 0.01
# Evidence that is stated agrees to this, relatively and absolutely.
CLOSE = 1e-7
# Terms of a series that are summed at most, and steps of Newton's method.
MOST_TERMS, MOST_STEPS = 2_000_000, 200
# So many standard deviations beyond a Gamma distribution's mean it has all its digits.
WHOLE = 10.0
HALF_LOG_TWO_PI = iv.log(exactly(np.pi) + Interval(np.asarray(-1e-15), np.asarray(1e-15))) * 0.5
HALF_LOG_TWO_PI = HALF_LOG_TWO_PI + iv.log(2.0) * 0.5


def check_tests(
    given: Value,
    settings: Settings,
    moment: Moment,
    now: Data,
    squares: Vector | None,
    families: dict[str, Family],
) -> bool:
    """Every test that there is to make is stated with its evidence; whether none may refute.

    Without squared deviations no noise was declared that could be refuted.
    """
    wanted: dict[str, tuple[float, float, Callable[[], Interval]]] = {}
    if squares is not None:
        scaled = exactly(squares) / exactly(settings.noise).square
        wanted[NOISE] = NOISE_LEVEL, EQUAL, lambda: against_noise(now.counts, scaled)
    if math.isfinite(settings.eps) and DIAGONAL in families:
        against = partial(against_tube, moment, families[DIAGONAL])
        if settings.noise_model.is_equal:
            against = partial(against, now.cells(families[DIAGONAL].scales, now.counts.size))
        wanted[MISSPECIFICATION] = settings.delta, CLOSE, against
    entries = given.entries(len(wanted))
    stands, seen = True, set()
    for entry in entries:
        parts = entry.parts("of", "level", "evidence", "threshold")
        of = parts["of"].text(*wanted)
        if of in seen:
            raise Failure(f"{entry.name} must be of another declaration than those before")
        seen.add(of)
        level, close, derive = wanted[of]
        refuse_difference(parts["level"], parts["level"].number(), level, 1e-14)
        threshold = -iv.log(level)
        near = float(threshold.middle)
        refuse_difference(parts["threshold"], parts["threshold"].number(), near, 1e-14)
        evidence = derive()
        stated, low, high = parts["evidence"].number(), evidence.low, evidence.high
        if not low - close * (1.0 + abs(low)) <= stated <= high + close * (1.0 + abs(high)):
            raise Failure(f"{parts['evidence'].name} must be {float(low)!r}; got {stated!r}")
        stands = stands and bool(evidence.high <= threshold.low)
    return stands


def against_noise(counts: Vector, squares: Interval) -> Interval:
    """Evidence that values scatter more: half for all arms together, half for one of them."""
    together = log_scatter(float(counts.sum()), squares.sum())
    each = [log_scatter(float(n), squares[k]) for k, n in enumerate(counts.tolist())]
    apart = iv.log_sum(iv.stack(each)) - iv.log(float(counts.size))
    return iv.log_sum(iv.stack([together, apart])) - iv.log(2.0)


def log_scatter(n: float, square: Interval) -> Interval:
    """Logarithm of the integral of p^(n/2) exp((1 - p) q / 2) over 0 < p < 1.

    With a = n/2 + 1 and x = q/2 it is the sum over k >= 0 of x^k / (a (a + 1) ... (a + k)), and
    e^x x^-a times what the Gamma function of a has below x. Above x > a it has at most
    e^-x x^a / (x - a).
    """
    a, x = 0.5 * n + 1.0, (square * 0.5).positive
    if not math.isfinite(x.high):
        raise Failure("squares must be numbers that can be divided by the squared noise")
    if float(x.low) - a > WHOLE * math.sqrt(a) + 50.0:
        # By Stirling's formula, so that nothing large is taken from anything large.
        whole = x - a - (iv.log1p((x - a) / a) * a) - iv.log(a) * 0.5 + HALF_LOG_TWO_PI
        whole = whole + iv.log_gamma_beyond(exactly(a))
        return Interval((whole - 1e-12).low, whole.high)
    return _series(a, x)


def _series(a: float, x: Interval) -> Interval:
    """The sum, from terms whose logarithms are added up; what comes after them is bounded."""
    terms = int(max(float(x.high) - a, 0.0) + 12.0 * math.sqrt(float(x.high) + a) + 200.0)
    if terms > MOST_TERMS:
        raise Failure("data must have fewer measurements for the noise to be tested")
    steps = a + np.arange(1.0, terms + 1.0)
    ratios = (x - steps) / steps
    logs = iv.log1p(Interval(np.maximum(ratios.low, -1.0), ratios.high))
    low, high = (
        np.cumsum(end) + sign * iv.STEP * np.arange(1.0, terms + 1.0) * np.cumsum(np.abs(end))
        for end, sign in ((logs.low, -1.0), (logs.high, 1.0))
    )
    found = iv.joined([exactly([0.0]), Interval(low, high)])
    # Terms fall by this factor or more after the last one, which is so much below the largest.
    ratio = float(x.high) / float(steps[-1])
    last = math.exp(float(found.high[-1]) - float(np.max(found.low)))
    beyond = math.log1p(last * ratio / (1.0 - ratio)) + 1e-15
    total = iv.log_sum(found) - iv.log(a)
    return Interval(total.low, (total + beyond).high)


def against_tube(moment: Moment, family: Family, cells: Cells | None = None) -> Interval:
    """Evidence against every model of the tube, by displacements of every arm.

    With cells, the least over all noises.
    """
    found, prices = [], []
    for scale in range(family.logs.low.size):
        duality, price = moment.scaled(family, scale)
        found.append(distance(duality))
        prices.append(price * 0.5)
    return summed(iv.stack(found), family.logs - iv.stack(prices), cells)


def distance(duality: Duality) -> Interval:
    """1/2 sum_k q_k (|means_k - x_k'b| - eps)_+^2 at the best b: that of one, and by duality."""
    model, weights, off = duality.model, duality.weights, duality.off
    b = nearest_values(model.X.middle, model.eps, off.middle, weights.middle)
    rest = off - iv.product(model.X, b)
    beyond = (exactly(rest.size) - model.eps).positive
    upper = float(((beyond.square * weights).sum() * 0.5).high)
    middle = rest.middle
    outside = np.sign(middle) * np.maximum(np.abs(middle) - model.eps, 0.0)
    try:
        lower = float(duality.distance(duality.balanced(weights.middle * outside)).low)
    except np.linalg.LinAlgError:  # the measured arms do not span: every model is possible
        lower = 0.0
    return Interval(np.asarray(lower), np.asarray(upper))


def nearest_values(X: Vector, eps: float, means: Vector, q: Vector) -> Vector:
    """Newton's method with halved steps, on a function that is smooth and convex."""
    root = np.sqrt(q)
    b = np.asarray(np.linalg.lstsq(root[:, None] * X, root * means, rcond=None)[0], np.float64)

    def beyond(at: Vector) -> Vector:
        rest = means - X @ at
        found: Vector = np.sign(rest) * np.maximum(np.abs(rest) - eps, 0.0)
        return found

    rest = beyond(b)
    for _ in range(MOST_STEPS):
        active = root * (rest != 0.0)
        step = np.linalg.lstsq(active[:, None] * X, active * rest, rcond=None)[0]
        before, length = float(q @ rest**2), 1.0
        while True:
            moved = b + length * step
            new = beyond(moved)
            if float(q @ new**2) < before or length < 1e-12:
                break
            length *= 0.5
        if not float(q @ new**2) < before * (1.0 - 1e-15):
            break
        b, rest = moved, new
    return b
