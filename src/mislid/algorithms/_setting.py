"""From a model and options to the setting of the compiled rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mislid._validation import Vector
from mislid.algorithms.compositions import Algorithm, BestResponse
from mislid.geometry.coordinates import coordinates
from mislid.model import Model

if TYPE_CHECKING:
    from mislid.rules._state import Setting

# What the published runs gave to arms that were never measured, and added to the tube (at noise 1).
PHANTOM, WIDENING = 1e-10, 1e-5


def new_setting(
    model: Model,
    noise: Vector,
    m: int,
    delta: float,
    tolerance: float,
    algorithm: Algorithm,
    mean_bound: float,
) -> Setting:
    """What an identification is told; `mean_bound` is the paper's M, infinite where unknown."""
    from mislid.rules._state import Setting

    at = coordinates(model)
    authors = bool(getattr(algorithm, "authors", False))
    return Setting(
        X=np.ascontiguousarray(at.matrix),
        basis=np.ascontiguousarray(at.basis, dtype=np.int64),
        eps=model.misspecification,
        variance=np.array(noise) ** 2,
        m=m,
        tol=tolerance,
        delta=delta,
        largest_norm=float(np.max(np.linalg.norm(model.features, axis=1))),
        mean_bound=mean_bound,
        phantom=PHANTOM if authors else 0.0,
        widening=WIDENING * float(np.max(noise)) if authors else 0.0,
        responds=isinstance(algorithm, BestResponse) and algorithm.subset == 0,
    )


def first_arms(setting: Setting, algorithm: Algorithm) -> NDArray[np.int64]:
    """The arms to measure first: every one, or a barycentric spanner."""
    K = setting.X.shape[0]
    return np.arange(K, dtype=np.int64) if algorithm.every_arm else setting.basis
