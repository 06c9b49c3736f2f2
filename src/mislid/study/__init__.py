"""Studies: identifications with real measurements, asked for and told, kept in a log.

`events` says what can happen, `state` replays it, `decisions` drives the compiled rules by it,
`storage` keeps it, and `Study` puts them together.
"""

from mislid.study.candidates import Candidates
from mislid.study.checking import StudyCheck, check_study
from mislid.study.events import Event
from mislid.study.forecast import StudyProgress, WhatIf
from mislid.study.manage import (
    copy_study,
    create_study,
    delete_study,
    list_studies,
    load_study,
)
from mislid.study.overview import Overview
from mislid.study.prospects import BudgetCheck, FeatureCheck
from mislid.study.questions import EstimateRow, Ranking, ResultNow, Threshold
from mislid.study.reading import ObservationRow
from mislid.study.result import StudyResult, StudySummary, Trial
from mislid.study.sensitivity import AnswerChange, Sensitivity, SensitivityRow
from mislid.study.settings import Settings
from mislid.study.study import Study
from mislid.study.suspicions import StudyWarning
from mislid.study.timeline import EvidenceOverTime, History, Moment

__all__ = [
    "AnswerChange",
    "BudgetCheck",
    "Candidates",
    "EstimateRow",
    "Event",
    "EvidenceOverTime",
    "FeatureCheck",
    "History",
    "Moment",
    "ObservationRow",
    "Overview",
    "Ranking",
    "ResultNow",
    "Sensitivity",
    "SensitivityRow",
    "Settings",
    "Study",
    "StudyCheck",
    "StudyProgress",
    "StudyResult",
    "StudySummary",
    "StudyWarning",
    "Threshold",
    "Trial",
    "WhatIf",
    "check_study",
    "copy_study",
    "create_study",
    "delete_study",
    "list_studies",
    "load_study",
]
