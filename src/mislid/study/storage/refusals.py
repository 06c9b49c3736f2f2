"""What every storage has to refuse, in the same words."""

from __future__ import annotations

from collections.abc import Sequence

from mislid.errors import CorruptStorageError, DuplicatedStudyError, UnknownStudyError
from mislid.study.chain import broken
from mislid.study.events import Entry


def refuse_gap(last: int, entries: Sequence[Entry]) -> None:
    """Refuse entries that do not go on from the last one.

    Parameters
    ----------
    last
        Sequence number of the last entry that is stored, 0 where there is none.
    entries
        What is to be added.

    Raises
    ------
    CorruptStorageError
        If their sequence numbers are not last + 1, last + 2, ...
    """
    for place, entry in enumerate(entries, start=last + 1):
        if entry.sequence != place:
            raise CorruptStorageError(
                f"event {place} must come next; got event {entry.sequence}: the log was cut off "
                "meanwhile, or not read before adding to it"
            )


def refuse_holes(after: int, until: int, entries: Sequence[Entry]) -> None:
    """Refuse entries of a database in which one is missing, or has lost its seal.

    Parameters
    ----------
    after, until
        Sequence numbers: all entries above the first, up to the second, must be there.
    entries
        What was found, in order.

    Raises
    ------
    CorruptStorageError
        If an entry is missing, or one has no seal.
    """
    for place, entry in zip(range(after + 1, until + 1), entries, strict=False):
        if entry.sequence != place:
            raise broken(f"event {place} of the study is missing")
        if not entry.seal:
            raise broken(f"event {place} of the study is not what was written: it has no seal")
    if len(entries) != until - after:
        raise broken(
            f"event {after + len(entries) + 1} of the study is missing, of {until} or more that "
            "were written"
        )


def name_taken_error(name: str) -> DuplicatedStudyError:
    """The error for a name that is taken.

    Parameters
    ----------
    name
        Of the study that is there already.

    Returns
    -------
    DuplicatedStudyError
        To be raised.
    """
    return DuplicatedStudyError(
        f"study_name must be new; got {name!r}, which is there already: give another name, or "
        "load_if_exists=True to go on with it"
    )


def study_deleted_error() -> UnknownStudyError:
    """The error for a study that was there before.

    Returns
    -------
    UnknownStudyError
        To be raised.
    """
    return UnknownStudyError("the study has been deleted meanwhile: create it anew to go on")
