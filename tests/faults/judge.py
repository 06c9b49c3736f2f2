"""What the package itself makes of a log: replays that are the same, certificates that hold."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import mislid
from faults import checker
from faults.checker import Model, Row, Violation
from faults.record import NAME
from faults.worker import digest
from helpers.rows import rows_of
from mislid.errors import MislidError
from mislid.study import Study
from mislid.study.events import Entry
from mislid.study.storage import MemoryStorage


def violations(
    address: str, rows: Sequence[Row], model: Model, folder: Path
) -> Iterable[Violation]:
    """All that a fresh look at the study shows."""
    yield from _check(address, rows)
    yield from _replays(address, model, folder)
    yield from _choices(rows, model)
    yield from _certificates(folder)


def _check(address: str, rows: Sequence[Row]) -> Iterable[Violation]:
    found = mislid.check_study(study_name=NAME, storage=address)
    if not found.ok or (found.events, found.head) != (len(rows), rows[-1].seal):
        yield Violation("check", f"{found}")


def _replays(address: str, model: Model, folder: Path) -> Iterable[Violation]:
    """A new process comes to what those did that were there all the time."""
    study = mislid.load_study(study_name=NAME, storage=address)
    try:
        counted = [(one.trial, one.label, one.value) for one in model.counted()]
        if [(row.trial, row.arm, row.value) for row in rows_of(study)] != counted:
            yield Violation("replay", "other measurements than the log has")
        fresh = digest(study)
    finally:
        study._session.storage.close()
    for file in sorted(folder.glob("*.digest")):
        if file.read_text() != fresh:
            yield Violation("replay", f"{file.stem}: {file.read_text()}, a new process: {fresh}")


def _choices(rows: Sequence[Row], model: Model) -> Iterable[Violation]:
    """Every arm that was handed out is the one that the rules choose, between any two changes."""
    for end in {*(change - 1 for change in model.changes), len(rows)}:
        study = _study(rows[:end])
        unlike = [one for one in study.warnings() if one.kind == "diverged"]
        if unlike:
            yield Violation("choices", f"up to event {end}: {unlike}")


def _study(rows: Sequence[Row]) -> Study:
    storage = MemoryStorage()
    storage.create(NAME, [Entry(*row) for row in rows])
    return mislid.load_study(study_name=NAME, storage=storage)


def _certificates(folder: Path) -> Iterable[Violation]:
    for file in sorted(folder.glob("*.certificate")):
        found = mislid.verify(file)
        if not found.proven:
            yield Violation("certificate", f"{file.name}: {found.failure}")


def torn_copies(copies: Iterable[Path], rows: Sequence[Row]) -> tuple[int, list[Violation]]:
    """How many copies can be used: with a beginning of the log; others are refused in words."""
    usable, found = 0, []
    for file in copies:
        try:
            kept = _kept(file)
        except MislidError as problem:
            if not str(problem).strip():
                found.append(Violation("torn", f"{file}: refused without a word"))
            continue
        except Exception as problem:  # noqa: BLE001 - that is what is looked for
            found.append(Violation("torn", f"{file}: {problem!r}"))
            continue
        usable += 1
        if kept != list(rows[: len(kept)]):
            found.append(Violation("torn", f"{file}: not a beginning of the log"))
    return usable, found


def _kept(file: Path) -> list[Row]:
    """What the package reads from a copy; it must be able to go on from there."""
    study = mislid.load_study(study_name=NAME, storage=f"sqlite:///{file}")
    try:
        _ = study.status
        kept = checker.read_sqlite(file)
        study.add_observations([("c0", 0.1)])
        found = mislid.check_study(study_name=NAME, storage=study._session.storage)
        if not found.ok:
            raise sqlite3.DatabaseError(str(found))
    finally:
        study._session.storage.close()
    return kept[1][: kept[0]]
