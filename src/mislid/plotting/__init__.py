"""Pictures: of one run, of many, of representations, and of a study.

Each function draws on matplotlib axes, gives figures, or saves a file; `theme` has what they share.
"""

import warnings
from typing import Any

from mislid.plotting.dial import draw_dial
from mislid.plotting.forecast import draw_forecast
from mislid.plotting.run import plot_allocation, plot_evidence
from mislid.plotting.runs import plot_runs, save_runs
from mislid.plotting.study import draw_candidates, draw_evidence
from mislid.plotting.theme import as_png, save
from mislid.plotting.trade_off import draw_trade_off

__all__ = [
    "as_png",
    "draw_candidates",
    "draw_dial",
    "draw_evidence",
    "draw_forecast",
    "draw_trade_off",
    "plot_allocation",
    "plot_evidence",
    "plot_runs",
    "save",
    "save_runs",
]

_FORMER = {"save_dial": draw_dial, "save_trade_off": draw_trade_off}


def __getattr__(name: str) -> Any:
    """What earlier releases had."""
    if name not in _FORMER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    draw: Any = _FORMER[name]
    now = f"save({draw.__name__}(found), path)"
    warnings.warn(f"{name}(path, found) is {now} now", DeprecationWarning, stacklevel=2)

    def former(path: Any, *found: Any, **named: Any) -> None:
        save(draw(*found, **named), path)

    return former
