"""Studies: identification by asking for measurements and telling them, kept in a log.

`events` are what a log holds, `state` follows from them, and `session` keeps log, state and rules
in step. `storage` keeps logs. `Study` has the calls of users.
"""

from mislid.study.candidates import Candidates
from mislid.study.events import Event
from mislid.study.manage import (
    StudyCheck,
    check_study,
    copy_study,
    create_study,
    delete_study,
    list_studies,
    load_study,
)
from mislid.study.results import StudyResult, StudySummary, Trial
from mislid.study.settings import Settings
from mislid.study.study import Study

__all__ = [
    "Candidates",
    "Event",
    "Settings",
    "Study",
    "StudyCheck",
    "StudyResult",
    "StudySummary",
    "Trial",
    "check_study",
    "copy_study",
    "create_study",
    "delete_study",
    "list_studies",
    "load_study",
]
