"""How often users of Last.fm listened to artists (HetRec 2011), as the paper prepares it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from mislid._formatting import shown
from mislid._validation import Matrix, Vector, as_array, as_count, frozen, integer_from
from mislid.errors import FileFormatError, ProblemError
from mislid.geometry.tube import smallest_misspecification
from mislid.io import Sheet, read_sheet
from mislid.io.sheets import csv_sheet
from mislid.model import Instance, Model
from mislid.paper.datasets.directory import published_bytes

FILE = "lastfm/user_artists.dat"
_COLUMNS = ["userID", "artistID", "weight"]

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ListeningCounts:
    """How often each user listened to each artist.

    Attributes
    ----------
    users, artists
        Their ids, increasing, shapes (U,) and (A,).
    counts
        Sparse array of shape (U, A).

    Examples
    --------
    >>> counts = csr_array([[5, 1, 0], [2, 0, 0], [9, 3, 4]])
    >>> few = ListeningCounts(np.array([7, 8, 9]), np.array([1, 2, 3]), counts)
    >>> kept = few.keep(min_listeners=2, min_artists=2)
    >>> kept.users.tolist(), kept.artists.tolist()
    ([7, 9], [1, 2])
    >>> kept.rewards().round(2).tolist()
    [[0.78, 0.3], [1.0, 0.6]]
    """

    users: Ids
    artists: Ids
    counts: csr_array

    def keep(self, min_listeners: int = 120, min_artists: int = 10) -> ListeningCounts:
        """Artists with at least so many listeners, then users with so many of those artists.

        Each rule is applied once, as the paper's authors do: some artists have fewer listeners left
        in the end.

        Parameters
        ----------
        min_listeners
            Fewest users who listened to an artist.
        min_artists
            Fewest of those artists that a user listened to.

        Returns
        -------
        ListeningCounts
            The counts of the users and artists that are kept.

        Raises
        ------
        ProblemError
            Where a number is no integer at least 0, or nobody or nothing is left.
        """
        min_listeners = as_count(min_listeners, "min_listeners", 0)
        min_artists = as_count(min_artists, "min_artists", 0)
        heard = self.counts > 0
        artists = np.flatnonzero(heard.sum(axis=0) >= min_listeners)
        users = np.flatnonzero(heard[:, artists].sum(axis=1) >= min_artists)
        if not artists.size or not users.size:
            raise ProblemError(
                "min_listeners and min_artists must leave artists and users; "
                f"got {min_listeners} and {min_artists}, which leave {artists.size} and "
                f"{users.size}"
            )
        return ListeningCounts(
            frozen(self.users[users]), frozen(self.artists[artists]), self.counts[users][:, artists]
        )

    def rewards(self) -> Matrix:
        """The counts on a log scale, from 0 to 1: ln(1 + count) / ln(1 + largest).

        Returns
        -------
        numpy.ndarray
            Shape (U, A), read-only.

        Raises
        ------
        ProblemError
            Where nobody listened to anything.
        """
        if not self.counts.max() > 0:
            raise ProblemError("counts must have one above 0; nobody listened to anything")
        logarithms = np.log1p(self.counts.toarray())
        scaled: Matrix = frozen(logarithms / logarithms.max())
        return scaled

    def represent(self, rank: int = 80) -> LastFm:
        """Features of users and artists by a singular value decomposition of the rewards.

        Parameters
        ----------
        rank
            Number of features, at most the number of users and of artists.

        Returns
        -------
        LastFm
            Rewards and features.

        Raises
        ------
        ProblemError
            Where the rank is no integer, less than 1, or too large.

        Examples
        --------
        >>> counts = csr_array([[5, 1], [2, 4], [9, 3]])
        >>> two = ListeningCounts(np.array([7, 8, 9]), np.array([1, 2]), counts).represent(rank=2)
        >>> bool(np.allclose(two.user_features @ two.artist_features.T, two.rewards, atol=1e-14))
        True
        """
        U, A = self.counts.shape
        rule = f"rank must be from 1 to {min(U, A)} with {U} users and {A} artists; got "
        rank = integer_from(rank, 1, min(U, A), rule)
        rewards = self.rewards()
        left, values, right = np.linalg.svd(rewards, full_matrices=False)
        # A decomposition fixes each pair of vectors up to one sign; ours has the largest positive.
        largest = np.abs(right).argmax(axis=1)
        signs = np.sign(right[np.arange(right.shape[0]), largest])
        return LastFm(
            users=self.users,
            artists=self.artists,
            counts=self.counts,
            rewards=rewards,
            user_features=frozen((left * values * signs)[:, :rank]),
            artist_features=frozen((right.T * signs)[:, :rank]),
        )


@dataclass(frozen=True, eq=False)
class LastFm:
    """Users, artists, rewards and features; `lastfm` makes it from the published file.

    Attributes
    ----------
    users, artists
        Their ids in the file, increasing, shapes (U,) and (A,).
    counts
        How often each user listened to each artist, sparse, shape (U, A).
    rewards
        Those counts on a log scale, from 0 to 1, shape (U, A).
    user_features, artist_features
        Shapes (U, r) and (A, r); their inner products are the best approximation of the rewards by
        a matrix of rank r. The users' carry the singular values.

    Examples
    --------
    >>> counts = csr_array([[50, 1, 6], [20, 4, 0], [9, 30, 1], [2, 9, 7]])
    >>> ids = np.array([7, 8, 9, 12]), np.array([1, 2, 3])
    >>> few = ListeningCounts(*ids, counts).represent(rank=2)
    >>> few.rewards[few.row(user=9)].round(2).tolist()
    [0.59, 0.87, 0.18]
    >>> features, rewards = few.pairs()
    >>> features.shape, rewards.shape
    ((12, 4), (12,))
    >>> few.to_instance(user=9)
    Instance(Model(K=3, d=2, misspecification=0.113...), best arm 2)
    """

    users: Ids
    artists: Ids
    counts: csr_array
    rewards: Matrix
    user_features: Matrix
    artist_features: Matrix

    def row(self, user: int) -> int:
        """The row of a user.

        Parameters
        ----------
        user
            The user's id in the file.

        Returns
        -------
        int
            Where the user stands in `users`.

        Raises
        ------
        ProblemError
            Where no user has this id.
        """
        found = np.flatnonzero(self.users == user) if np.ndim(user) == 0 else np.empty(0, int)
        if found.size != 1:
            raise ProblemError(
                f"user must be the id of one of the {self.users.size} users, such as "
                f"{int(self.users[0])}; got {shown(user)}"
            )
        return int(found[0])

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
        features = np.hstack(
            [np.repeat(self.user_features, A, axis=0), np.tile(self.artist_features, (U, 1))]
        )
        return features, self.rewards.ravel().copy()

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
            The user's id in the file.
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
            Where no user has this id, where `features` do not have A rows, or where
            `misspecification` or `noise` is not allowed.
        """
        means = self.rewards[self.row(user)]
        given: Any = self.artist_features if features is None else features
        return instance_of(given, means, misspecification, noise, self.artists.tolist())


def lastfm(
    data: str | os.PathLike[str] | None = None,
    *,
    min_listeners: int = 120,
    min_artists: int = 10,
    rank: int = 80,
) -> LastFm:
    """The paper's Last.fm data: frequent artists, active users, log scale, features by SVD.

    The published file gives 1,020 users and 103 artists, or 949 users with `min_artists=11`; the
    paper prints 1,322 and 103 (see docs/reproduce.md).

    Parameters
    ----------
    data
        Directory with lastfm/user_artists.dat; by default that of MISLID_DATA, else the cache.
    min_listeners, min_artists
        Keep artists with at least so many listeners, then users with so many of those artists.
    rank
        Number of singular values kept.

    Returns
    -------
    LastFm
        Users, artists, rewards and features.

    Raises
    ------
    MissingDataError
        Where the directory does not have the file.
    FileFormatError
        Where the file is not the published one.
    ProblemError
        Where `data` is no path, or where the other arguments are not allowed by
        `ListeningCounts.keep` or `ListeningCounts.represent`.

    Examples
    --------
    >>> lastfm(data="my-data", rank=40)
    Traceback (most recent call last):
    ...
    mislid.errors.MissingDataError: no lastfm/user_artists.dat in 'my-data'; get it with
    `mislid data fetch lastfm --data my-data`, or name a directory that has it with --data or
    MISLID_DATA
    """
    sheet = csv_sheet(published_bytes(FILE, data), FILE, "count")
    return _counts(sheet).keep(min_listeners, min_artists).represent(rank)


def read_counts(path: str | os.PathLike[str]) -> ListeningCounts:
    r"""Read how often users listened to artists.

    Parameters
    ----------
    path
        A file of tab-separated lines userID, artistID, weight, below a heading of these names.

    Returns
    -------
    ListeningCounts
        All users and artists in the file.

    Raises
    ------
    FileFormatError
        Where the file cannot be read, has other columns, or has a pair of user and artist twice.
    ProblemError
        Where `path` is no path.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> listened = ["userID\tartistID\tweight", "2\t51\t13", "2\t52\t4", "4\t51\t9"]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "own.dat")
    ...     _ = path.write_text("\n".join([*listened, ""]))
    ...     own = read_counts(path)
    >>> own.users.tolist(), own.artists.tolist(), own.counts.toarray().tolist()
    ([2, 4], [51, 52], [[13, 4], [9, 0]])
    """
    return _counts(read_sheet(path, "count"))


def _counts(sheet: Sheet) -> ListeningCounts:
    if sheet.headings != _COLUMNS:
        raise FileFormatError(
            f"{sheet.path!r} must have the tab-separated columns {', '.join(_COLUMNS)}; got "
            f"{', '.join(sheet.headings)}"
        )
    numbers = sheet.matrix(_COLUMNS)
    bad = np.flatnonzero((numbers % 1 != 0).any(axis=1) | (numbers[:, 2] < 1))
    if bad.size:
        raise FileFormatError(
            f"{sheet.path!r}, line {sheet.line(int(bad[0]))}: must hold whole numbers, and a "
            "weight of at least 1"
        )
    triples = numbers.astype(np.int64)
    users, row = np.unique(triples[:, 0], return_inverse=True)
    artists, column = np.unique(triples[:, 1], return_inverse=True)
    _, first = np.unique(row * artists.size + column, return_index=True)
    repeated = np.setdiff1d(np.arange(len(triples)), first)
    if repeated.size:
        raise FileFormatError(
            f"{sheet.path!r}, line {sheet.line(int(repeated[0]))}: has a user and artist that came "
            "before"
        )
    counts = csr_array((triples[:, 2], (row, column)), shape=(users.size, artists.size))
    return ListeningCounts(frozen(users), frozen(artists), counts)


def instance_of(
    features: npt.ArrayLike,
    means: Vector,
    misspecification: float | None,
    noise: float | npt.ArrayLike,
    names: Iterable[str] | Iterable[int],
) -> Instance:
    """The instance of a model; by default the smallest misspecification that holds the means."""
    rows = as_array(features, "features", 2, "one row per arm and one column per feature")
    if len(rows) != means.size:
        raise ProblemError(f"features must have {means.size} rows, one per arm; got {len(rows)}")
    if misspecification is None:
        misspecification = smallest_misspecification(features, means)
    return Instance(Model(features, misspecification), means, noise, names)
