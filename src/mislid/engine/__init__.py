"""The engine: measurements in, decisions out."""

from mislid.engine.engine import Engine
from mislid.engine.replay import EventBatch
from mislid.engine.view import SamplingProtocol, StoppingProtocol, Verdict, View

__all__ = [
    "Engine",
    "EventBatch",
    "SamplingProtocol",
    "StoppingProtocol",
    "Verdict",
    "View",
]
