"""Checks of a certificate, in order, up to the first failure."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from mislid.verification import evidence
from mislid.verification.declared import check_tests
from mislid.verification.evidence import Question
from mislid.verification.families import Moment
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
from mislid.verification.reading import Failure, Label, Saved, Value, read_certificate, sha256_of

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

    It is divided for candidates that came or left after a look at values: `docs/changing.md` has
    the proof. With n of them, A of them new, K in the question and R that were ever in the study,
    delta is what was promised over n (n + 1)^2 C(R, n - A) and, if A > 0, over
    K (K - 1) / (m (K - m)), rounded up.
    """
    came: set[Label] = set()
    gone: set[Label] = set()
    seen = 0
    for entry in changes.entries():
        parts = entry.parts("event", "kind", "labels", "informed", "reason")
        kind, informed = parts["kind"].text(ADDED, LEFT, RETIRED), parts["informed"].flag()
        labels = [one.label() for one in parts["labels"].entries()]
        if len(labels) != len(set(labels)) or (kind != ADDED and len(labels) != 1):
            raise parts["labels"].fail("one label, or for added ones labels that differ")
        if kind == ADDED and informed:
            came |= set(labels)
        if kind == LEFT:
            gone |= set(labels)
            seen += informed
    present = {candidates.labels[k] for k in late or ()}
    if late is not None and present != came - gone:
        raise Failure("model.late must be those that log.changes has added after a look at values")
    new, n = len(came), len(came) + seen
    price = 1
    if n > 0:
        ever = candidates.K + len(gone)
        K, m = candidates.K, settings.m
        pairs = -(-K * (K - 1) // (m * (K - m))) if new else 1
        price = n * (n + 1) ** 2 * pairs * math.comb(ever, seen)
    rate = promised.number(0.0, above=True)
    if not rate < 1.0:
        raise promised.fail("below 1")
    share = Fraction(rate) / price
    if not Fraction(settings.delta) <= share * (1 + ROUNDING):
        raise promised.fail(f"at least {price} times settings.delta, for log.changes")
