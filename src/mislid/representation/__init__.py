"""From raw data to a linear model with a measured misspecification (the paper's Section 5)."""

from mislid.representation.learned import Representation
from mislid.representation.learning import learn
from mislid.representation.network import Network
from mislid.representation.observations import Observations, read_observations
from mislid.representation.trade_off import Choice, TradeOff

__all__ = [
    "Choice",
    "Network",
    "Observations",
    "Representation",
    "TradeOff",
    "learn",
    "read_observations",
]
