"""Studies: identification with an ask-and-tell interface and a persistent event log.

`events` defines the entries of the log, and `state` is the result of replaying them. `session`
synchronizes log, state and rules. `storage` stores logs. `Study` is the public interface.
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
