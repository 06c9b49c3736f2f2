"""A question for a study with nothing left out, as `as_settings` takes it."""

import math
from typing import Any

QUESTION: dict[str, Any] = {
    "m": 1,
    "delta": 0.05,
    "misspecification": 0.1,
    "noise": 0.1,
    "tolerance": 0.0,
    "direction": "maximize",
    "algorithm": "mislid",
    "stopping": "guaranteed",
    "seed": 0,
    "mean_bound": math.inf,
}
