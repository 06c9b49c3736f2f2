"""Algorithms by name, and the parts to compose others from: one file for each in this folder.

Every module whose name does not begin with an underscore is imported and registers its algorithms;
modules that do are shared.
"""

from mislid.algorithms._gains import Aggressive, Empirical, Optimistic
from mislid.algorithms._learners import AdaHedge, ExponentialWeights, FollowTheLeader
from mislid.algorithms.best_response import BestResponse
from mislid.algorithms.frank_wolfe import FrankWolfe
from mislid.algorithms.game import CTracking, Direct, DTracking, MisLid
from mislid.algorithms.lazy_track_and_stop import LazyTrackAndStop
from mislid.algorithms.lingape import LinGapE
from mislid.algorithms.lingifa import LinGIFA
from mislid.algorithms.lucb import LUCB
from mislid.algorithms.oracle import Oracle
from mislid.algorithms.peps import PEPS
from mislid.algorithms.rage import RAGE
from mislid.algorithms.registry import ALGORITHMS, Algorithm, algorithm_names, as_algorithm
from mislid.algorithms.selective import Selective
from mislid.algorithms.top_two import TopTwo
from mislid.algorithms.top_two_ids import TopTwoIDS
from mislid.algorithms.ugape import UGapE
from mislid.algorithms.uniform import Uniform
from mislid.algorithms.xy import XYAdaptive, XYStatic
from mislid.stopping.registry import import_modules

import_modules(__name__, __path__)
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
