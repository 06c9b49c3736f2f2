"""The paper's data: published files with checksums, and instances built from the raw data."""

from mislid.paper.datasets.files import CATALOGUE, Collection, data_directory, fetch, locate
from mislid.paper.datasets.raw import Epilepsy, LastFm, epilepsy, lastfm, listening

__all__ = [
    "CATALOGUE",
    "Collection",
    "Epilepsy",
    "LastFm",
    "data_directory",
    "epilepsy",
    "fetch",
    "lastfm",
    "listening",
    "locate",
]
