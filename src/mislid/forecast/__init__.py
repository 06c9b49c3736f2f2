"""Forecasts, sensitivity analysis, planning and evidence from a study's data.

No function here changes a study. The methods of `mislid.study.Study` call them.
"""

from mislid.forecast.checks import Sensitivity, StudyWarning
from mislid.forecast.evidence import EstimateRow, Ranking, ResultNow, Threshold
from mislid.forecast.overview import Overview
from mislid.forecast.planning import Expectation
from mislid.forecast.simulate import StudyProgress, WhatIf

__all__ = [
    "EstimateRow",
    "Expectation",
    "Overview",
    "Ranking",
    "ResultNow",
    "Sensitivity",
    "StudyProgress",
    "StudyWarning",
    "Threshold",
    "WhatIf",
]
