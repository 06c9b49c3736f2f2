"""Questions to a study's data: forecasts, what-ifs, sensitivity, planning and overview.

Nothing here changes a study. The methods of `mislid.study.Study` call these functions.
"""

from mislid.forecast.diagnostics import StudyWarning
from mislid.forecast.history import EvidenceOverTime, History, Moment
from mislid.forecast.overview import Overview
from mislid.forecast.planning import BudgetCheck, FeatureCheck
from mislid.forecast.progress import StudyProgress, WhatIf
from mislid.forecast.questions import EstimateRow, Ranking, ResultNow, Threshold
from mislid.forecast.sensitivity import Sensitivity, SensitivityRow

__all__ = [
    "BudgetCheck",
    "EstimateRow",
    "EvidenceOverTime",
    "FeatureCheck",
    "History",
    "Moment",
    "Overview",
    "Ranking",
    "ResultNow",
    "Sensitivity",
    "SensitivityRow",
    "StudyProgress",
    "StudyWarning",
    "Threshold",
    "WhatIf",
]
