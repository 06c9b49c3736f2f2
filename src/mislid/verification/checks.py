"""The check of a certificate, and what it says in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mislid.verification import intervals as iv
from mislid.verification.declared import refuted
from mislid.verification.families import Proofs, family_of
from mislid.verification.geometry import model_of
from mislid.verification.question import By, Kind, Pairs, Question, read_claim, read_question
from mislid.verification.reading import Failure, Label, Value, read_certificate, shown
from mislid.verification.record import Record, entries_of, read_record

# Evidence below the level by less is accepted: errors grow by a factor exp(ENOUGH).
ENOUGH = 1e-6
# Operations, numbers in all times, and pairs by their own values, that take about a minute.
MOST_WORK, MOST_NUMBERS, MOST_PAIRS = 1e10, 2e6, 2_000
# A pair's multipliers cost about so many products of features with themselves.
SOLVED = 50
MOST_NAMED = 10
# Numbers (pairs times arms) that are in memory at once.
AT_ONCE = 10_000
CAVEAT = (
    "What a file cannot show: that these values were measured, in this order, and that none was "
    "left out."
)


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of checking a certificate; true in a condition if its answer is proven.

    Attributes
    ----------
    ok
        Whether the file is sound, and the data reach what it claims.
    proven
        Whether its answer is proved to be wrong with probability at most delta, if what it assumes
        is true.
    answer
        The labels of the answer; empty where nothing is proved.
    failure
        What is wrong with the file, or None.
    reason
        Why a sound file proves nothing, or None.
    statement
        What is proved, under which assumptions, in one paragraph.

    Examples
    --------
    >>> verify({"format": 1}).failure
    'study is missing'
    """

    ok: bool
    proven: bool
    answer: tuple[Label, ...]
    failure: str | None
    reason: str | None
    statement: str

    def __bool__(self) -> bool:
        return self.proven

    def __str__(self) -> str:
        return self.statement

    def to_dict(self) -> dict[str, Any]:
        """The attributes by name, as values of JSON."""
        return {**asdict(self), "answer": list(self.answer)}


def verify(certificate: object) -> Verification:
    """Check a certificate: derive everything that it claims from the data that it has.

    Interval arithmetic bounds all rounding, so what is proved here is true in exact arithmetic.

    Parameters
    ----------
    certificate
        The path of a file, what is in one, or an object with `to_dict`.

    Returns
    -------
    Verification
        What is proved, or what is wrong with the file.

    Examples
    --------
    >>> question = {"labels": ["a", "b"], "features": None, "m": 1, "delta": 0.05, "tolerance": 0}
    >>> question |= {"direction": "maximize", "misspecification": None}
    >>> data = {"arm": [0, 1] * 30, "value": [0.1, 0.9] * 30, "count": None, "squares": None}
    >>> found = verify({
    ...     "format": 1,
    ...     "study": {"name": "assay", "head": None},
    ...     "question": question | {"noise": {"kind": "known", "sd": [0.5]}},
    ...     "changes": [],
    ...     "data": data,
    ...     "claim": {"answer": ["b"], "pairs": [[0, 1, "two arms", 60]]},
    ... })
    >>> found.proven, found.answer
    (True, ('b',))
    """
    try:
        with np.errstate(all="ignore"):
            return _check(read_certificate(certificate))
    except Failure as error:
        failure = str(error)
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        failure = f"question and data must have numbers that can be computed with: {error}"
    statement = f"The certificate is not sound: {failure}."
    return Verification(False, False, (), failure, None, statement)


def _check(whole: Value) -> Verification:
    if isinstance(whole.given, Mapping) and "format" in whole.given:
        Value(whole.given["format"], "format").whole(1, 1)
    parts = whole.parts("format", "study", "question", "changes", "data", "claim")
    study = _read_study(parts["study"])
    entries = entries_of(parts["data"])
    question = read_question(parts["question"], parts["changes"], entries)
    record = read_record(parts["data"], question)
    chosen, pairs = read_claim(parts["claim"], question, entries)
    contradicted = _examine(question, record, pairs)
    reason = None
    if contradicted is not None:
        reason = f"the data refute the declared {contradicted}"
    elif not chosen:
        reason = "the file claims no answer"
    labels = list(question.index)
    answer = tuple(labels[k] for k in chosen) if reason is None else ()
    proved = _statement(question, answer, reason)
    statement = f"{proved} {record.count.sum():,} values; {study}. {CAVEAT}"
    return Verification(True, reason is None, answer, None, reason, statement)


def _read_study(given: Value) -> str:
    parts = given.parts("name", "head")
    name = f"study {shown(parts['name'].text())}"
    if parts["head"].absent:
        return name
    head = parts["head"].text()
    if len(head) != 64 or set(head) - set("0123456789abcdef"):
        raise parts["head"].fail("64 hexadecimal digits")
    return f"{name}, whose log ends with {head}"


def _examine(question: Question, record: Record, claim: Pairs) -> str | None:
    """Refuse a pair that the data do not settle; what the data refute, or None."""
    tests = set(record.test_times(question.K))
    times = sorted(tests | set(claim))
    _refuse_work(question, claim, len(tests), len(times))
    families = {by: family_of(by, question) for by in By}
    # Without features the proofs by these are not asked for.
    features = np.ones((question.R, 1)) if question.features is None else question.features
    model = model_of(features, question.K, question.eps)
    needed = float((-iv.log(question.delta)).high) - ENOUGH
    contradicted = None
    for time, moment in zip(times, record.moments(times), strict=True):
        proofs = Proofs(question, families, model, moment)
        if time in tests and contradicted is None:
            contradicted = refuted(proofs)
        for by, pairs in claim.get(time, {}).items():
            size = max(1, AT_ONCE // question.R)
            found = [
                proofs.of(by, [(i, j) for _, i, j in pairs[first : first + size]]).low
                for first in range(0, len(pairs), size)
            ]
            for (n, i, j), evidence in zip(pairs, np.concatenate(found).tolist(), strict=True):
                share = iv.log(iv.of_fraction(question.share(by, i, j)))
                proved = evidence + float(share.low)
                if not proved >= needed:
                    raise Failure(
                        f"claim.pairs[{n}] must have evidence of at least {needed:.7g} by the "
                        f"first {time} entries of data; it has {proved:.7g}"
                    )
    return contradicted


def _refuse_work(question: Question, claim: Pairs, tests: int, times: int) -> None:
    """Refuse what would take minutes."""
    if times * (question.R + 50) > MOST_NUMBERS:
        raise Failure(f"claim.pairs must have fewer times than {times}")
    found = [(by, len(some)) for one in claim.values() for by, some in one.items()]
    if question.features is not None:
        R, n = question.features.shape
        solved = sum(1 + size for by, size in found if by == By.DIAGONAL) + tests + 1
        work = R * n * min(R, n) * (len(claim) + SOLVED * solved)
        if work > MOST_WORK:
            raise Failure(f"claim.pairs must be fewer, or question.features: {work:.2g} operations")
    if question.kind == Kind.UNKNOWN and sum(size for _, size in found) > MOST_PAIRS:
        raise Failure(f"claim.pairs must be at most {MOST_PAIRS} where the noise is not known")


def _statement(question: Question, answer: tuple[Label, ...], reason: str | None) -> str:
    """What is proved, under which assumptions."""
    R, left = question.R, question.R - len(question.left)
    of = f"{R} candidates" if left == R else f"the {left} candidates that are left of {R}"
    better = "larger is better" if question.sign > 0.0 else "smaller is better"
    if question.tol > 0.0:
        better += f", up to {question.tol:g}"
    if reason is not None:
        return f"Nothing is proved of which {question.m} of {of} are best ({better}): {reason}."
    best = "is the best" if len(answer) == 1 else f"are the {len(answer)} best"
    proved = f"{_listed(answer)} {best} of {of} ({better}), wrong with probability at most "
    proved += f"{100.0 * question.delta:g} %, if {_assumptions(question)}."
    if question.kind == Kind.KNOWN or question.features is not None:
        proved += " The data do not contradict these assumptions."
    mended = [f"the {what} was declared again" for what in sorted(question.redeclared)]
    if question.corrected:
        mended.append(f"{question.corrected:,} values were corrected or taken back")
    if mended:
        proved += f" Before, {' and '.join(mended)}: it is assumed that no value was the reason."
    return proved


def _listed(answer: tuple[Label, ...]) -> str:
    names = [shown(label) for label in answer[:MOST_NAMED]]
    if len(answer) > MOST_NAMED:
        names.append(f"{len(answer) - MOST_NAMED} more")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _assumptions(question: Question) -> str:
    least, most = min(question.deviations), max(question.deviations)
    deviation = f"{most:g}" if least == most else f"those declared, {least:g} to {most:g}"
    low, high = sorted((question.sign * question.low, question.sign * question.high))
    kinds = {
        Kind.KNOWN: f"with standard deviation at most {deviation} (sub-Gaussian)",
        Kind.UNKNOWN: "Gaussian, with standard deviations that are not known",
        Kind.EQUAL: "Gaussian, with one standard deviation for all that is not known",
        Kind.BERNOULLI: "either 0 or 1",
        Kind.RANGE: f"between {low:g} and {high:g}",
    }
    found = f"the values are independent, {kinds[Kind(question.kind)]}"
    if question.features is not None:
        count = question.features.shape[1]
        plural = "feature" if count == 1 else f"{count} features"
        found += f", and every mean is within {question.eps:g} of linear in the {plural}"
    return found
