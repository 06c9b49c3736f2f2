"""Whether doubles have the digits that a decision needs.

A mean far above the noise is known no better than to its last digit. Where that is not far below a
standard error, rules that take means for exact may decide too early, and a decision is only made if
its certificate holds, which bounds all rounding.
"""

from __future__ import annotations

import math

import numpy as np

from mislid._validation import Vector
from mislid.errors import CertificateError
from mislid.study.facts import Decided
from mislid.study.settings import is_python
from mislid.study.state import StudyState

# Half a unit in the last place of a mean, in standard errors, up to which nothing is checked.
COARSE = 1e-9


def is_coarse(counts: Vector, means: Vector, deviations: Vector) -> bool:
    """Whether rounding of some arm's mean may matter, at these standard deviations (K,).

    >>> is_coarse(np.array([9.0, 9.0]), np.array([300.0, 301.0]), np.full(2, 0.1))
    False
    >>> is_coarse(np.array([9.0, 9.0]), np.array([1e11, 1e11]), np.full(2, 1e-3))
    True
    """
    digit = math.ulp(0.5) * np.abs(means) * np.sqrt(counts)
    return bool(np.any(digit > COARSE * deviations))


def holds(state: StudyState, decision: Decided) -> bool:
    """Whether the certificate of a decision can be made, and holds."""
    from mislid.study.certificate import Certificate
    from mislid.verification import verify

    if is_python(decision.rule):
        return True
    arguments = state.settings, state.candidates, decision, state.observations
    try:
        return verify(Certificate("", *arguments).to_dict()).ok
    except CertificateError:
        return False
