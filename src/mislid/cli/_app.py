"""The commands, each loaded when it is called."""

from __future__ import annotations

from typing import Any

import click

from mislid import __version__
from mislid.cli._lazy import LazyGroup

_COMMANDS = {
    "run": "Identify the m best arms of an instance, many times.",
    "merge": "Join the directories of shards of a run.",
    "bound": "Samples that any method needs, and the allocation that attains it.",
    "study": "Measure for real: what to measure next, when to stop, and the answer.",
    "reproduce": "The paper's experiments, beside the published numbers.",
    "data": "Fetch the paper's data, and say where they are.",
    "represent": "Learn a linear representation of raw data and save it as an instance.",
    "demo": "The main job on an embedded instance, with a picture.",
}


@click.group(
    cls=LazyGroup,
    home="mislid.cli",
    summaries=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="mislid")
def app(**_: Any) -> None:
    """Which m of K candidates are best, from few noisy measurements, when a linear model of them
    is useful but wrong by a bounded amount.
    """
