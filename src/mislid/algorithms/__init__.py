"""Sampling rules by name, one file each, and the records of options to compose others from.

Every module without a leading underscore is imported and registers its rules. The other modules
hold code that rules share.
"""

from mislid.algorithms.best_response import BestResponse
from mislid.algorithms.fixed import Oracle, Uniform
from mislid.algorithms.frank_wolfe import FrankWolfe
from mislid.algorithms.game import MisLid
from mislid.algorithms.lazy_track_and_stop import LazyTrackAndStop
from mislid.algorithms.lingape import LinGapE, LinGIFA
from mislid.algorithms.lucb import LUCB, UGapE
from mislid.algorithms.peps import PEPS
from mislid.algorithms.phases import RAGE, XYAdaptive, XYStatic
from mislid.algorithms.registry import (
    ALGORITHMS,
    Algorithm,
    Selective,
    algorithm_names,
    as_algorithm,
    import_modules,
)
from mislid.algorithms.top_two import TopTwo

import_modules(__name__, __path__)
__all__ = [
    "ALGORITHMS",
    "LUCB",
    "PEPS",
    "RAGE",
    "Algorithm",
    "BestResponse",
    "FrankWolfe",
    "LazyTrackAndStop",
    "LinGIFA",
    "LinGapE",
    "MisLid",
    "Oracle",
    "Selective",
    "TopTwo",
    "UGapE",
    "Uniform",
    "XYAdaptive",
    "XYStatic",
    "algorithm_names",
    "as_algorithm",
]
