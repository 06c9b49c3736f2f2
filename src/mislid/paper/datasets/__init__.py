"""The paper's data: fetched once, read with checks, prepared as the paper says."""

from mislid.paper.datasets.catalogue import CATALOGUE, Collection
from mislid.paper.datasets.directory import cache_directory, data_directory, fetch, locate
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
    "lastfm",
    "locate",
    "read_counts",
]
