"""Named compositions of rules, and the parts to compose others from."""

from mislid.algorithms.compositions import (
    LUCB,
    Algorithm,
    BestResponse,
    LinGapE,
    LinGIFA,
    MisLid,
    Oracle,
    Uniform,
)
from mislid.algorithms.names import ALGORITHMS, algorithm_names, as_algorithm
from mislid.algorithms.parts import (
    AdaHedge,
    Aggressive,
    CTracking,
    Direct,
    DTracking,
    Empirical,
    ExponentialWeights,
    FollowTheLeader,
    Optimistic,
)

__all__ = [
    "ALGORITHMS",
    "LUCB",
    "AdaHedge",
    "Aggressive",
    "Algorithm",
    "BestResponse",
    "CTracking",
    "DTracking",
    "Direct",
    "Empirical",
    "ExponentialWeights",
    "FollowTheLeader",
    "LinGIFA",
    "LinGapE",
    "MisLid",
    "Optimistic",
    "Oracle",
    "Uniform",
    "algorithm_names",
    "as_algorithm",
]
