"""From raw data to a linear model with a measured misspecification (the paper's Section 5)."""

from mislid.paper.representation.learned import Representation, learn
from mislid.paper.representation.network import Network
from mislid.paper.representation.observations import Observations, read_observations
from mislid.paper.representation.trade_off import Choice, TradeOff

__all__ = [
    "Choice",
    "Network",
    "Observations",
    "Representation",
    "TradeOff",
    "learn",
    "read_observations",
]
