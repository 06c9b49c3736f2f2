"""Instances from the paper's raw data: drugs against epilepsy, and listening counts of Last.fm."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from mislid._formatting import require_pandas, shown
from mislid._validation import Matrix, Vector, as_count
from mislid.errors import ProblemError
from mislid.geometry.tube import smallest_misspecification
from mislid.model import Instance, Model
from mislid.paper.datasets.files import published_file

if TYPE_CHECKING:
    from pandas import DataFrame, Series

# The columns of the drugs' rewards: the file has no heading, this is the order of the authors'
# program, and the averages are the means of D.
_REWARDED = (
    "Hydroxyzine",
    "Acetazolamide",
    "Pentobarbital",
    "Topiramate",
    "Diazepam",
    "Dmcm",
    "Brucine",
    "Fipronil",
    "Flumazenil",
    "Fg-7142",
)


class Epilepsy(NamedTuple):
    """Drugs against epilepsy (Réda et al. 2021).

    Attributes
    ----------
    signatures
        Changes of the expression of 67 genes, a row for each drug.
    scores
        Known effects by drug: 1 antiepileptic, -1 proconvulsant, 0 unknown.
    rewards
        A row for each of 18 patients and a column for each of 10 drugs. Draws of its rows are an
        environment: `mislid.simulation.Table(drugs.rewards)`.
    """

    signatures: DataFrame
    scores: Series
    rewards: DataFrame


def epilepsy(data: str | os.PathLike[str] | None = None, *, known_only: bool = True) -> Epilepsy:
    """The drug-repurposing data: drugs of known effect (27), or all 509.

    The paper speaks of 175 drugs of known effect; the published scores have 27:
    docs/reproduce.md.

    Parameters
    ----------
    data
        Directory with `epilepsy/*.csv`; by default that of MISLID_DATA, else the cache.
    known_only
        Leave out drugs whose effect is unknown, as the paper does.

    Returns
    -------
    Epilepsy
        Signatures, scores and rewards.

    Raises
    ------
    MissingDataError
        Where the directory does not have the files.
    FileFormatError
        Where a file is not the published one.
    MissingPackageError
        Without pandas.

    Examples
    --------
    >>> epilepsy(data="my-data")
    Traceback (most recent call last):
    ...
    mislid.errors.MissingDataError: no epilepsy/epilepsy_signatures_nonbinarized.csv in 'my-data';
    get it with `mislid data fetch epilepsy --data my-data`, or name a directory that has it with
    --data or MISLID_DATA
    """
    signatures = published_file("epilepsy/epilepsy_signatures_nonbinarized.csv", data)
    scores = published_file("epilepsy/epilepsy_scores.csv", data)
    rewards = published_file("epilepsy/rewards_cosine_10drugs_18samples.csv", data)
    require_pandas("epilepsy", "read the files")
    import pandas as pd

    effects = pd.read_csv(scores, index_col="drug_name")["score"]
    genes = pd.read_csv(signatures, index_col=0).T
    genes.index = effects.index  # the same drugs in the same order, by their PubChem ids
    known = effects != 0 if known_only else slice(None)
    patients = pd.DataFrame(np.loadtxt(rewards), columns=list(_REWARDED))
    return Epilepsy(genes[known], effects[known], patients)


class LastFm(NamedTuple):
    """Rewards and features of users and artists; `lastfm` makes it from the published file.

    Attributes
    ----------
    rewards
        How often each user listened to each artist, on a log scale from 0 to 1: a row for each
        user and a column for each artist, both by their ids.
    user_features, artist_features
        Shapes (U, r) and (A, r); their inner products are the best approximation of the rewards by
        a matrix of rank r. The users' carry the singular values.
    """

    rewards: DataFrame
    user_features: Matrix
    artist_features: Matrix

    def pairs(self) -> tuple[Matrix, Vector]:
        """Features and rewards of all pairs of a user and an artist, to learn from.

        Returns
        -------
        features : numpy.ndarray
            Shape (U A, 2 r): the user's beside the artist's; the pairs of the first user come
            first. With 1,020 users, 103 artists and rank 80 they take 134 MB.
        rewards : numpy.ndarray
            Shape (U A,).
        """
        U, A = self.rewards.shape
        users = np.repeat(self.user_features, A, axis=0)
        artists = np.tile(self.artist_features, (U, 1))
        return np.hstack([users, artists]), self.rewards.to_numpy().ravel()

    def to_instance(
        self,
        user: int,
        features: npt.ArrayLike | None = None,
        misspecification: float | None = None,
        noise: float | npt.ArrayLike = 1.0,
    ) -> Instance:
        """One user's instance: arms are artists, named by their ids, means are the user's rewards.

        Parameters
        ----------
        user
            The user's id.
        features
            Shape (A, d); by default those of the artists.
        misspecification
            By default the smallest that contains the means.
        noise
            Standard deviation of rewards: one for all artists, or one for each.

        Returns
        -------
        Instance
            With A arms.

        Raises
        ------
        ProblemError
            Where no user has this id, or another argument is not allowed.
        """
        if user not in self.rewards.index:
            raise ProblemError(
                f"user must be the id of one of the {len(self.rewards)} users, such as "
                f"{self.rewards.index[0]}; got {shown(user)}"
            )
        means = self.rewards.loc[user].to_numpy()
        given = self.artist_features if features is None else features
        if misspecification is None:
            misspecification = smallest_misspecification(given, means)
        return Instance(Model(given, misspecification), means, noise, self.rewards.columns)


def listening(
    counts: DataFrame, *, min_listeners: int = 120, min_artists: int = 10, rank: int = 80
) -> LastFm:
    """Prepare listening counts like the paper: filter, log scale, singular value decomposition.

    Parameters
    ----------
    counts
        A row for each user and artist, with the columns userID, artistID and weight.
    min_listeners, min_artists
        Keep artists with at least so many listeners, then users with so many of those artists.
        Each rule is applied once: some artists have fewer listeners left in the end.
    rank
        Number of features, at most the number of users and of artists.

    Returns
    -------
    LastFm
        Rewards and features.

    Raises
    ------
    ProblemError
        Where fewer users or artists are left than the rank.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame(
    ...     {"userID": [7, 7, 9, 9, 9], "artistID": [1, 2, 1, 2, 3], "weight": [50, 1, 9, 30, 4]}
    ... )
    >>> music = listening(counts, min_listeners=2, min_artists=2, rank=2)
    >>> music.rewards.round(2).loc[9].to_dict()
    {1: 0.59, 2: 0.87}
    >>> bool(np.allclose(music.user_features @ music.artist_features.T, music.rewards))
    True
    >>> music.to_instance(user=9, misspecification=0.1)
    Instance(Model(K=2, d=2, misspecification=0.1), best arm 2)
    """
    listeners = counts.groupby("artistID")["userID"].transform("size")
    kept = counts[listeners >= as_count(min_listeners, "min_listeners", 0)]
    artists = kept.groupby("userID")["artistID"].transform("size")
    kept = kept[artists >= as_count(min_artists, "min_artists", 0)]
    table = kept.pivot_table("weight", "userID", "artistID", aggfunc="sum", fill_value=0)
    if kept.empty or as_count(rank, "rank", 1) > min(table.shape):
        raise ProblemError(
            "min_listeners, min_artists and rank must leave as many users and artists as the rank; "
            f"got {min_listeners}, {min_artists} and {rank}, which leave {len(table)} users and "
            f"{len(table.columns)} artists"
        )
    logarithms = np.log1p(table)
    rewards = logarithms / logarithms.to_numpy().max()
    left, values, right = np.linalg.svd(rewards.to_numpy(), full_matrices=False)
    # A decomposition fixes each pair of vectors up to one sign; ours has the largest positive.
    largest = np.abs(right).argmax(axis=1)
    signs = np.sign(right[np.arange(right.shape[0]), largest])
    return LastFm(rewards, (left * values * signs)[:, :rank], (right.T * signs)[:, :rank])


def lastfm(
    data: str | os.PathLike[str] | None = None,
    *,
    min_listeners: int = 120,
    min_artists: int = 10,
    rank: int = 80,
) -> LastFm:
    """The paper's Last.fm data (HetRec 2011), prepared by `listening`.

    The published file gives 1,020 users and 103 artists, or 949 users with `min_artists=11`; the
    paper prints 1,322 and 103 (see docs/reproduce.md).

    Parameters
    ----------
    data
        Directory with lastfm/user_artists.dat; by default that of MISLID_DATA, else the cache.
    min_listeners, min_artists, rank
        Those of `listening`.

    Returns
    -------
    LastFm
        Rewards and features.

    Raises
    ------
    MissingDataError
        Where the directory does not have the file.
    FileFormatError
        Where the file is not the published one.
    MissingPackageError
        Without pandas.

    Examples
    --------
    >>> lastfm(data="my-data", rank=40)
    Traceback (most recent call last):
    ...
    mislid.errors.MissingDataError: no lastfm/user_artists.dat in 'my-data'; get it with
    `mislid data fetch lastfm --data my-data`, or name a directory that has it with --data or
    MISLID_DATA
    """
    place = published_file("lastfm/user_artists.dat", data)
    require_pandas("lastfm", "read the file")
    import pandas as pd

    counts = pd.read_csv(place, sep="\t")
    return listening(counts, min_listeners=min_listeners, min_artists=min_artists, rank=rank)
