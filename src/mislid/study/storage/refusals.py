"""What every storage has to refuse, in the same words."""

from __future__ import annotations

from collections.abc import Sequence

from mislid.errors import CorruptStorageError, DuplicatedStudyError, UnknownStudyError
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
                f"event {place} must come next; got event {entry.sequence}: read the log again "
                "before adding to it"
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
