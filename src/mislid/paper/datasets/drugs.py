"""Drugs against epilepsy (Réda et al. 2021): signatures, known effects, rewards of patients."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mislid._formatting import shown
from mislid._validation import Matrix, Vector, frozen, is_one_of
from mislid.errors import ProblemError
from mislid.model import Instance
from mislid.paper.datasets.directory import published_bytes
from mislid.paper.datasets.listening import instance_of
from mislid.simulation.environments import Table

SIGNATURES = "epilepsy/epilepsy_signatures_nonbinarized.csv"
SCORES = "epilepsy/epilepsy_scores.csv"
REWARDS = "epilepsy/rewards_cosine_10drugs_18samples.csv"
# The file has no heading; this is the order of the authors' program, and their averages are D's.
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


@dataclass(frozen=True, eq=False)
class Epilepsy:
    """Drugs with what they do to genes and, for some, what they did to patients.

    Attributes
    ----------
    drugs
        Names of the n drugs.
    pubchem
        Their PubChem ids, shape (n,).
    genes
        Names of the 67 genes.
    signatures
        How each drug changes the expression of each gene, shape (n, 67).
    scores
        What is known of each drug, shape (n,): 1 antiepileptic, -1 proconvulsant, 0 unknown.
    rewarded
        Names of the 10 drugs with rewards, the columns of `rewards`.
    rewards
        One row per patient, shape (18, 10).

    Examples
    --------
    The published files have more drugs, genes and patients than these:

    >>> few = Epilepsy(
    ...     drugs=("Diazepam", "Brucine", "Aspirin"),
    ...     pubchem=np.array([3016, 442021, 2244]),
    ...     genes=("GABRA1", "SCN1A"),
    ...     signatures=np.array([[0.9, -0.2], [-0.7, 0.4], [0.1, 0.0]]),
    ...     scores=np.array([1, -1, 0]),
    ...     rewarded=("Diazepam", "Brucine"),
    ...     rewards=np.array([[0.6, -0.3], [0.5, -0.4], [0.4, -0.2]]),
    ... )
    >>> few.known().drugs
    ('Diazepam', 'Brucine')
    >>> first_gene = few.signatures_of(few.rewarded)[:, :1]
    >>> few.to_instance(first_gene, misspecification=0.1, noise=few.environment().noise)
    Instance(Model(K=2, d=1, misspecification=0.1), best arm 'Diazepam')
    """

    drugs: tuple[str, ...]
    pubchem: npt.NDArray[np.int64]
    genes: tuple[str, ...]
    signatures: Matrix
    scores: npt.NDArray[np.int64]
    rewarded: tuple[str, ...]
    rewards: Matrix

    @property
    def means(self) -> Vector:
        """Average rewards of the rewarded drugs, shape (10,)."""
        averages: Vector = self.rewards.mean(axis=0)
        return averages

    def known(self) -> Epilepsy:
        """The drugs of known effect: 18 antiepileptics and 9 proconvulsants.

        Returns
        -------
        Epilepsy
            The same genes and rewards with these drugs only.
        """
        kept = np.flatnonzero(self.scores)
        return replace(
            self,
            drugs=tuple(self.drugs[k] for k in kept),
            pubchem=frozen(self.pubchem[kept]),
            signatures=frozen(self.signatures[kept]),
            scores=frozen(self.scores[kept]),
        )

    def signatures_of(self, drugs: Sequence[str]) -> Matrix:
        """The signatures of some drugs.

        Parameters
        ----------
        drugs
            Names, each among `drugs` of this record.

        Returns
        -------
        numpy.ndarray
            One row per name, in the order given, shape (len(drugs), 67).

        Raises
        ------
        ProblemError
            Where `drugs` is no list of names, or one of them is none of the drugs.
        """
        rows: Matrix = self.signatures[_positions(drugs, self.drugs)]
        return rows

    def environment(self, drugs: Sequence[str] | None = None) -> Table:
        """The patients' rewards as a source of rewards, drawn again with replacement.

        Parameters
        ----------
        drugs
            Names of rewarded drugs, in the order of the arms; by default all 10.

        Returns
        -------
        Table
            One column per drug, for the argument `environment` of `mislid.identify`.

        Raises
        ------
        ProblemError
            Where `drugs` are fewer than 2, or one of them has no rewards.
        """
        return Table(self.rewards[:, self._columns(drugs)])

    def to_instance(
        self,
        features: npt.ArrayLike,
        drugs: Sequence[str] | None = None,
        misspecification: float | None = None,
        noise: float | npt.ArrayLike = 1.0,
    ) -> Instance:
        """The instance of the rewarded drugs, or of some, whose means are their average rewards.

        Parameters
        ----------
        features
            Rows of a representation, shape (K, d), in the order of the drugs. The signatures
            themselves have as many dimensions as there are drugs, so that anything is linear in
            them.
        drugs
            Names of rewarded drugs; by default all 10.
        misspecification, noise
            As in `LastFm.to_instance`.

        Returns
        -------
        Instance
            Its arms are named by the drugs.

        Raises
        ------
        ProblemError
            Where `drugs` are fewer than 2, come twice or have no rewards, where `features` have
            another number of rows, or where `misspecification` or `noise` is not allowed.
        """
        columns = self._columns(drugs)
        names = [self.rewarded[column] for column in columns]
        return instance_of(features, self.means[columns], misspecification, noise, names)

    def _columns(self, drugs: Sequence[str] | None) -> list[int]:
        columns = _positions(self.rewarded if drugs is None else drugs, self.rewarded)
        if len(columns) < 2:
            raise ProblemError(f"drugs must be at least 2 to choose from; got {shown(drugs)}")
        return columns


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
    ProblemError
        Where `data` is no path.

    Examples
    --------
    >>> epilepsy("my-data")
    Traceback (most recent call last):
    ...
    mislid.errors.MissingDataError: no epilepsy/epilepsy_signatures_nonbinarized.csv in 'my-data';
    get it with `mislid data fetch epilepsy --data my-data`, or name a directory that has it with
    --data or MISLID_DATA
    """
    cells = [line.split(",") for line in _lines(SIGNATURES, data)]
    scores = [line.split(",") for line in _lines(SCORES, data)][1:]
    everything = Epilepsy(
        drugs=tuple(name for _, name, _ in scores),
        pubchem=frozen(np.array(cells[0][1:], dtype=np.int64)),
        genes=tuple(gene for gene, *_ in cells[1:]),
        signatures=frozen(np.array([row[1:] for row in cells[1:]], dtype=np.float64).T),
        scores=frozen(np.array([score for *_, score in scores], dtype=np.int64)),
        rewarded=_REWARDED,
        rewards=frozen(np.loadtxt(_lines(REWARDS, data))),
    )
    return everything.known() if known_only else everything


def _lines(path: str, data: str | os.PathLike[str] | None) -> list[str]:
    return published_bytes(path, data).decode().splitlines()


def _positions(chosen: Any, among: tuple[str, ...]) -> list[int]:
    try:
        names = None if isinstance(chosen, str) else list(chosen)
    except TypeError:
        names = None
    if names is None:
        raise ProblemError(f"drugs must be a list of names; got {shown(chosen)}")
    for drug in names:
        if not is_one_of(drug, among):
            raise ProblemError(f"drugs must be among {', '.join(among)}; got {shown(drug)}")
    return [among.index(drug) for drug in names]
