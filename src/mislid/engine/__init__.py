"""The engine: measurements in, decisions out."""

from mislid.engine.engine import Engine, Memory
from mislid.engine.replay import EventBatch
from mislid.engine.view import SamplingProtocol, StoppingProtocol, Verdict, View

__all__ = [
    "Engine",
    "EventBatch",
    "Memory",
    "SamplingProtocol",
    "StoppingProtocol",
    "Verdict",
    "View",
]
