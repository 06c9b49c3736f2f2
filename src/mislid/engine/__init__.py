"""The seam between people's code and compiled rules: what was measured in, decisions out."""

from mislid.engine.engine import Engine, Memory
from mislid.engine.script import Script
from mislid.engine.view import SamplingProtocol, StoppingProtocol, Verdict, View

__all__ = [
    "Engine",
    "Memory",
    "SamplingProtocol",
    "Script",
    "StoppingProtocol",
    "Verdict",
    "View",
]
