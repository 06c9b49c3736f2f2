"""From raw data to a linear model with a measured misspecification (the paper's Section 5)."""

from mislid.paper.representation.learned import Choice, Representation, TradeOff, learn
from mislid.paper.representation.observations import Observations, read_observations

__all__ = ["Choice", "Observations", "Representation", "TradeOff", "learn", "read_observations"]
