"""Create, open, list, check, copy and delete studies."""

from __future__ import annotations

import math
import os
import re
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from mislid._formatting import shown
from mislid._validation import LONGEST_NAME, as_line, fill
from mislid.errors import (
    CorruptStorageError,
    DuplicatedStudyError,
    MislidError,
    ProblemError,
    StorageError,
    UnknownOutcomeError,
    UnknownStudyError,
)
from mislid.study.assumption_tests import in_words
from mislid.study.candidates import as_candidates, as_intended
from mislid.study.events import Chain, Created, Entry, Event, entry_of, events_of, naming
from mislid.study.results import DAMAGED, PlainRecord, StudySummary
from mislid.study.rules import cannot_be_known, unconfirmed
from mislid.study.session import Session
from mislid.study.settings import as_settings, refuse_other_rules, refuse_others
from mislid.study.state import StudyState, read_summary, summary_of
from mislid.study.storage import Storage, as_storage
from mislid.study.storage.interface import Line
from mislid.study.study import Study

Address = str | os.PathLike[str] | Storage
# Problems that a check shows at most.
_MOST = 20


def create_study(
    *,
    study_name: str | None = None,
    candidates: Any,
    m: int,
    delta: float = 0.05,
    misspecification: float | str | None = None,
    noise: Any = None,
    tolerance: float = 0.0,
    direction: str = "maximize",
    storage: Address | None = None,
    load_if_exists: bool = False,
    seed: int = 0,
    algorithm: Any = "mislid",
    stopping: Any = "guaranteed",
    names: Iterable[Any] | None = None,
    columns: Iterable[Any] | None = None,
    intercept: bool | None = None,
    mean_bound: float = math.inf,
    budget: int | None = None,
    cost: Any = None,
) -> Study:
    """Begin a study: which m of the candidates are best, at error rate delta?

    Parameters
    ----------
    study_name
        A name that is new in the storage; one is made up where it is left out.
    candidates
        A DataFrame of features, one row per candidate, named by its index; a dict from labels to
        features; an array (K, d), with labels in `names` or else 0 to K - 1; or a list of labels,
        about which nothing is known.
    m
        Number of best candidates to find, from 1 to K - 1.
    delta
        Error rate: how often the answer may be wrong, in (0, 1).
    misspecification
        How far a mean may be from linear in the features, at least 0 or inf; left out without
        features. With features, leaving it out means "unknown": the study decides when the answer
        is proved for every misspecification. `sensitivity` says up to which one it is proved by
        now, and `redeclare` may then declare that one.
    noise
        Standard deviation of a measurement (or a bound that makes it sub-Gaussian), or one per
        candidate, as a list or array in their order or by label (a dict or a Series); "unknown",
        for Gaussian values whose standard deviation differs between candidates, or "unknown-equal",
        if all have the same; "bernoulli" for values 0 and 1; or a tuple (low, high), between which
        every value is, whatever the distribution: others are refused. docs/noise.md.
    tolerance
        The answer is m candidates, none of them worse than the m-th best by more than this.
    direction
        Whether the best are those with the largest means, "maximize", or "minimize".
    storage
        Such as "sqlite:///lab.db" or "postgresql://user@host/database"; in memory where left out.
    load_if_exists
        Go on with the study of this name if it is there; other settings are refused.
    seed
        Of the decisions that are random.
    algorithm, stopping
        Names that `identify` knows, or objects with `propose(view)` and `judge(view)`, which must
        be given again to `load_study`. A rule without a proof, such as `heuristic` or one that is
        written in Python, is labelled in the result. In a study, rivals with a test
        of their own, such as LUCB, also stop by the rule named here.
    names, columns
        Labels of the rows of an array, and names of its columns, the features.
    intercept
        Whether means are linear in the features up to a common level. A column of ones is then
        added to the features, unless some combination of them is 1 for all. That is so unless
        refused by False; a study that is there goes on with what it has, unless True asks for it.
    mean_bound
        Bound on the means' absolute values, for `mislid-paper` and its kin.
    budget
        Measurements that there can be in all: `optimize` ends with the last of them, `budget_check`
        says what they can be expected to prove, and `result_now` what to report then.
    cost
        What a measurement of each candidate costs, in any unit, as a list or a dict by labels. What
        proves most for its cost is measured, and forecasts say what is to be spent. Infinity is for
        candidates that can never be measured, and are judged by their features.

    Returns
    -------
    Study
        The study, which may be asked for trials.

    Raises
    ------
    ProblemError
        A value is not allowed, or a study of this name has other settings.
    DuplicatedStudyError
        There is a study of this name, and `load_if_exists` is False.
    StorageError
        The storage cannot be opened, read or written, or is of another release.
    MissingPackageError
        The storage is in a database, and the package for that is not installed.

    Examples
    --------
    >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=0.1)
    >>> value = {"a": 0.2, "b": 0.9, "c": 0.4}
    >>> study.optimize(lambda trial: value[trial.arm])
    >>> study.status, study.result.answer
    ('decided', ('b',))
    """
    plain = as_candidates(candidates, names, columns)
    arms = as_intended(plain, intercept)
    settings = as_settings(
        arms,
        m=m,
        delta=delta,
        misspecification=misspecification,
        noise=noise,
        tolerance=tolerance,
        direction=direction,
        algorithm=algorithm,
        stopping=stopping,
        seed=seed,
        mean_bound=mean_bound,
        budget=budget,
        cost=cost,
    )
    name = f"study-{uuid.uuid4()}" if study_name is None else _as_name(study_name)
    place = as_storage(storage)
    first = Chain(name).seal([entry_of(Event(1, time.time(), Created(settings, arms)))])
    rules = (_as_object(algorithm), _as_object(stopping))
    try:
        return Study(Session(name, _created(place, name, first), place, rules=rules))
    except DuplicatedStudyError:
        if not load_if_exists:
            raise
    study = Study(Session(name, place.find(name), place, rules=rules))
    if intercept is None and study.candidates == plain:
        arms = plain  # begun without
    state = study._now()
    was = (state.settings, state.candidates)
    if state.changes and state.begun is not None:  # goes on with what came and left since
        was = (state.begun.settings, state.begun.candidates)
    refuse_others(name, was, (settings, arms))
    return study


def _created(place: Storage, name: str, first: list[Entry]) -> int:
    """The key of a new study; where the answer was lost, of that which came of it."""
    try:
        return place.create(name, first)
    except UnknownOutcomeError as problem:
        try:
            return place.create(name, first)  # waits for the first, if that is still under way
        except DuplicatedStudyError:
            key = place.find(name)
            if place.read(key, 0, 1) == first:
                return key
            raise
        except StorageError:
            raise problem from None


def _as_object(rule: Any) -> Any:
    return None if isinstance(rule, str) else rule


def load_study(
    *,
    study_name: str | None = None,
    storage: Address,
    algorithm: Any = None,
    stopping: Any = None,
) -> Study:
    """Open a study.

    Parameters
    ----------
    study_name
        May be left out where the storage has only one.
    storage
        Such as "sqlite:///lab.db", or a path.
    algorithm, stopping
        The rules of a study that was begun with objects; others need none.

    Returns
    -------
    Study
        The study, which goes on where it is.

    Raises
    ------
    ProblemError
        The storage is no address, or another storage's; or a rule is not the study's own.
    UnknownStudyError
        There is no such study, or no name where there are several.
    StorageError, MissingPackageError
        As in `create_study`.

    Examples
    --------
    >>> from mislid.study.storage import MemoryStorage
    >>> lab = MemoryStorage()
    >>> study = create_study(study_name="assay", candidates=["a", "b"], m=1, storage=lab, noise=1)
    >>> load_study(storage=lab)
    Study('assay', running, 0 measurements)
    """
    place = as_storage(_given(storage))
    if study_name is None:
        names = list(place.names())
        if len(names) != 1:
            shown = ", ".join(repr(name) for name in names[:5]) or "none"
            more = ", ..." if len(names) > 5 else ""
            raise UnknownStudyError(
                "study_name must be given unless the storage has one study; there are "
                f"{len(names)}: {shown}{more}"
            )
        study_name = names[0]
    rules = (_as_object(algorithm), _as_object(stopping))
    study = Study(Session(study_name, place.find(study_name), place, rules=rules))
    refuse_other_rules(study_name, study._now().settings, algorithm, stopping)
    return study


def list_studies(*, storage: Address) -> list[StudySummary]:
    """A line about every study.

    Parameters
    ----------
    storage
        Such as "sqlite:///lab.db", or a path.

    Returns
    -------
    list of StudySummary
        In alphabetical order of the names. A study whose log cannot be read has the status
        "damaged", and zeros; `check_study` says why.

    Raises
    ------
    ProblemError
        The storage is no address.
    StorageError, MissingPackageError
        As in `create_study`.

    Examples
    --------
    All studies of a laboratory:

    >>> from mislid.study.storage import MemoryStorage
    >>> lab = MemoryStorage()
    >>> for name in ("toxicity", "assay"):
    ...     _ = create_study(study_name=name, candidates=["a", "b"], m=1, storage=lab, noise=1)
    >>> [(one.name, one.status) for one in list_studies(storage=lab)]
    [('assay', 'running'), ('toxicity', 'running')]
    """
    place = as_storage(_given(storage))
    summaries = []
    for line in place.lines():
        try:
            summaries.append(summary_of_line(place, line))
        except UnknownStudyError:
            continue  # deleted meanwhile
        except CorruptStorageError:  # which does not hide the others
            summaries.append(StudySummary(line.name, DAMAGED, 0, 0, 0, 0, 0.0, 0.0, ""))
    return summaries


def summary_of_line(place: Storage, line: Line) -> StudySummary:
    """A line about a study, from its log where the storage has none."""
    summary = read_summary(line.name, line.last, line.summary)
    return summary or _replayed_summary(place, line.name, line.key)


def delete_study(*, study_name: str, storage: Address) -> None:
    """Remove a study and its log, for good.

    Parameters
    ----------
    study_name, storage
        Which study, and where it is kept.

    Raises
    ------
    ProblemError, UnknownStudyError
        The storage is no address, or there is no such study.

    Examples
    --------
    >>> from mislid.study.storage import MemoryStorage
    >>> lab = MemoryStorage()
    >>> for name in ("trial run", "assay"):
    ...     study = create_study(study_name=name, candidates=["a", "b"], m=1, storage=lab, noise=1)
    >>> delete_study(study_name="trial run", storage=lab)
    >>> [one.name for one in list_studies(storage=lab)]
    ['assay']
    """
    place = as_storage(_given(storage))
    key = place.find(study_name)
    place.delete(key)


def copy_study(
    *,
    from_study_name: str,
    from_storage: Address,
    to_storage: Address,
    to_study_name: str | None = None,
) -> None:
    """Copy a study's log, to another storage or under another name; the copies go on apart.

    The name is part of the seals: a copy under another name has other heads, and refuses trials
    that were handed out before.

    Parameters
    ----------
    from_study_name, from_storage
        Which study, and where it is kept.
    to_storage, to_study_name
        Where the copy goes; its name, where left out, is the same.

    Raises
    ------
    ProblemError, UnknownStudyError
        As in `delete_study`; also where the new name is empty.
    DuplicatedStudyError
        There is a study of the new name.

    Examples
    --------
    >>> from mislid.study.storage import MemoryStorage
    >>> lab = MemoryStorage()
    >>> study = create_study(study_name="assay", candidates=["a", "b"], m=1, storage=lab, noise=1)
    >>> copy_study(
    ...     from_study_name="assay", from_storage=lab, to_storage=lab, to_study_name="again"
    ... )
    >>> [one.name for one in list_studies(storage=lab)]
    ['again', 'assay']
    """
    source = as_storage(_given(from_storage))
    target = as_storage(_given(to_storage))
    name = _as_name(from_study_name if to_study_name is None else to_study_name)
    with naming(from_study_name):
        entries = Chain(from_study_name).take_in(source.read(source.find(from_study_name)))
    target.create(name, Chain(name).seal(entries))


@dataclass(frozen=True, slots=True)
class StudyCheck(PlainRecord):
    """What a check of a study's log found.

    Attributes
    ----------
    study
        Its name.
    events, head
        Number of events, and the seal of the last one: written down, it shows later whether the log
        up to here is still the same.
    samples
        Measurements that count, of the events that hold.
    decision
        "none", "confirmed", "not confirmed", or "not checked" where the log is broken, or rules
        without a proof are not here.
    problems
        What does not hold, in words; empty where all does.
    ok
        Whether all does.
    """

    study: str
    events: int
    head: str
    samples: int
    decision: str
    problems: tuple[str, ...]
    ok: bool = field(init=False)

    def __post_init__(self) -> None:
        fill(self, ok=not self.problems)

    def __bool__(self) -> bool:
        """Whether all holds."""
        return self.ok


def check_study(
    *, study_name: str, storage: str | os.PathLike[str] | Storage, head: str | None = None
) -> StudyCheck:
    """Check every seal and every event of a study's log, and derive its decision again.

    Parameters
    ----------
    study_name, storage
        Which study, and where it is kept.
    head
        One that was written down before: the log must still have it.

    Returns
    -------
    StudyCheck
        What was found; true where all holds.

    Raises
    ------
    ProblemError, UnknownStudyError
        The storage is no address, there is no such study, or the head is none.

    Examples
    --------
    >>> from mislid import create_study
    >>> from mislid.study.storage import MemoryStorage
    >>> lab = MemoryStorage()
    >>> study = create_study(study_name="assay", candidates=["a", "b"], m=1, storage=lab, noise=1)
    >>> before = check_study(study_name="assay", storage=lab)
    >>> study.add_observations([("a", 0.2), ("b", 0.9)])
    >>> now = check_study(study_name="assay", storage=lab, head=before.head)
    >>> now.ok, now.events, now.samples
    (True, 2, 2)
    """
    given: Any = head
    if given is not None and not (isinstance(given, str) and re.fullmatch("[0-9a-f]{64}", given)):
        raise ProblemError(f"head must have 64 digits of 0-9 and a-f; got {shown(given)}")
    place = as_storage(storage)
    session, chain = Session(study_name, place.find(study_name), place), Chain(study_name)
    problems, heads, entries = place.faults(session.key), set[str](), list[Entry]()
    try:
        entries = place.read(session.key)
    except CorruptStorageError as problem:
        problems.append(str(problem))
    for entry in entries:
        try:
            chain.take_in([entry])
        except CorruptStorageError as problem:
            problems.append(_brief(problem))
            # The next entry is checked against what is written here.
            chain = Chain(study_name, entry.sequence, str(entry.seal), chain.first)
        heads.add(chain.head)
    if not problems:
        try:
            session.take_in(events_of(entries))
            _ = session.state.roster  # refuses an empty log
        except MislidError as problem:
            problems.append(_brief(problem))
    if head is not None and head not in heads:
        problems.append(f"no event has the head {head}: the log was cut off or rewritten since")
    decision = "not checked" if problems else _checked_decision(session, problems)
    samples = len(session.state.observations)
    most = tuple(problems[:_MOST])
    return StudyCheck(study_name, chain.sequence, chain.head, samples, decision, most)


def _brief(problem: MislidError) -> str:
    return str(problem).partition(". Nothing is decided")[0]


def _checked_decision(session: Session, problems: list[str]) -> str:
    """What was found of the decision; adds what is wrong with it, or with the study's summary."""
    state = session.state
    listed = next(
        read_summary(line.name, state.sequence, line.summary)
        for line in session.storage.lines()
        if line.name == session.name
    )
    if listed is not None and listed != summary_of(session.name, state):
        problems.append("the list of studies says something else than the log")
    if state.decision is None:
        return "none"
    if cannot_be_known(session):
        return "not checked"
    found = unconfirmed(session)
    if found is None:
        return "confirmed"
    problems.append(in_words(found, state).partition(". ")[0])
    return "not confirmed"


def _replayed_summary(place: Storage, name: str, key: int) -> StudySummary:
    state = StudyState()
    with naming(name):
        for event in events_of(Chain(name).take_in(place.read(key))):
            state.apply(event)
        return summary_of(name, state)


def _given(storage: Address | None) -> Address:
    if storage is None:
        raise ProblemError("storage must be given, such as 'sqlite:///lab.db'; got None")
    return storage


def _as_name(name: Any) -> str:
    return as_line(name, "study_name", LONGEST_NAME)
