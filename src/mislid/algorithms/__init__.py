"""Named compositions of rules, and the parts to compose others from."""

from mislid.algorithms.compositions import (
    LUCB,
    Algorithm,
    BestResponse,
    LinGapE,
    LinGIFA,
    MisLid,
    Oracle,
    Selective,
    UGapE,
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
from mislid.algorithms.phases import RAGE, XYAdaptive, XYStatic
from mislid.algorithms.posterior import PEPS, TopTwoIDS
from mislid.algorithms.top_two import TopTwo
from mislid.algorithms.tracking import FrankWolfe, LazyTrackAndStop

__all__ = [
    "ALGORITHMS",
    "LUCB",
    "PEPS",
    "RAGE",
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
    "FrankWolfe",
    "LazyTrackAndStop",
    "LinGIFA",
    "LinGapE",
    "MisLid",
    "Optimistic",
    "Oracle",
    "Selective",
    "TopTwo",
    "TopTwoIDS",
    "UGapE",
    "Uniform",
    "XYAdaptive",
    "XYStatic",
    "algorithm_names",
    "as_algorithm",
]
