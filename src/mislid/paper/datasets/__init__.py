"""The paper's data: fetched once, read with checks, prepared as the paper says.

What needs arrays is loaded when first used: asking where files are takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mislid.paper.datasets.catalogue import CATALOGUE, Collection
from mislid.paper.datasets.directory import (
    cache_directory,
    data_directory,
    fetch,
    is_complete,
    locate,
)

if TYPE_CHECKING:
    from mislid.paper.datasets.drugs import Epilepsy, epilepsy
    from mislid.paper.datasets.listening import LastFm, ListeningCounts, lastfm, read_counts

__all__ = [
    "CATALOGUE",
    "Collection",
    "Epilepsy",
    "LastFm",
    "ListeningCounts",
    "cache_directory",
    "data_directory",
    "epilepsy",
    "fetch",
    "is_complete",
    "lastfm",
    "locate",
    "read_counts",
]

_HOMES = {
    "Epilepsy": "drugs",
    "LastFm": "listening",
    "ListeningCounts": "listening",
    "epilepsy": "drugs",
    "lastfm": "listening",
    "read_counts": "listening",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
