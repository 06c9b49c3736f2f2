"""Studies: identifications with real measurements, asked for and told, kept in a log.

`events` says what can happen, `state` replays it, `decisions` drives the compiled rules by it,
`storage` keeps it, and `Study` puts them together.
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
