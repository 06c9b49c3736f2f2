"""Projections, closest alternatives, characteristic times and spanners."""

from mislid.geometry.alternatives import (
    Alternative,
    AlternativeSearch,
    closest_alternative,
    pair_alternative,
)
from mislid.geometry.duality import Check
from mislid.geometry.projection import Projection, project
from mislid.geometry.spanner import spanner
from mislid.geometry.time import CharacteristicTime, characteristic_time
from mislid.geometry.tube import smallest_misspecification

__all__ = [
    "Alternative",
    "AlternativeSearch",
    "CharacteristicTime",
    "Check",
    "Projection",
    "characteristic_time",
    "closest_alternative",
    "pair_alternative",
    "project",
    "smallest_misspecification",
    "spanner",
]
