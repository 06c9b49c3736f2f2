"""The certificate of a decision: a record from which anyone can derive it again.

It rests on the measurements that led to the decision, whatever came later. `mislid.verify` checks
it; `docs/certificate.md` describes the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mislid import __version__
from mislid._validation import Vector
from mislid.errors import CertificateError
from mislid.files import write_whole
from mislid.study.events import Decided
from mislid.study.evidence import PAIRWISE, Data, Judgement, PairEvidence
from mislid.study.settings import Candidates, Settings, is_python
from mislid.study.state import Observation

SCHEMA, VERSION = "mislid-certificate", 1
# What the file says of the question; a setting that changes decisions needs a new version.
SETTINGS = (
    "m", "delta", "misspecification", "noise", "tolerance", "direction", "algorithm", "stopping",
    "seed", "mean_bound",
)  # fmt: skip
# A pair counts as the hardest to tell apart up to this, so that the one recorded stays.
AS_HARD = 1e-7


class Certificate:
    """What a decision rests on, made when first looked at; `StudyResult.certificate` is one.

    Parameters
    ----------
    study_name, settings, candidates
        The study, its question and its arms.
    decision
        What the stopping rule said.
    observations
        All measurements; those after the decision are not used.

    Examples
    --------
    >>> import mislid
    >>> study = mislid.create_study(candidates=["a", "b", "c"], m=1, noise=0.1)
    >>> value = {"a": 0.2, "b": 0.9, "c": 0.4}
    >>> study.optimize(lambda trial: value[trial.arm])
    >>> certificate = study.result.certificate.to_dict()
    >>> certificate["decision"]["answer"], len(certificate["evidence"])
    (['b'], 2)
    >>> bool(mislid.verify(certificate))
    True
    """

    def __init__(
        self,
        study_name: str,
        settings: Settings,
        candidates: Candidates,
        decision: Decided,
        observations: Sequence[Observation],
    ) -> None:
        self._study_name = study_name
        self._settings, self._candidates, self._decision = settings, candidates, decision
        self._observations = observations  # only ever grows at its end

    def __repr__(self) -> str:
        return f"Certificate({self._study_name!r}, {self._decision.samples} measurements)"

    def to_dict(self) -> dict[str, Any]:
        """The certificate as values of JSON.

        Returns
        -------
        dict
            What the file holds, in fresh containers.
        """
        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def to_json(self) -> str:
        """The text of the file.

        Returns
        -------
        str
            One line of JSON.
        """
        return self._text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all.

        Parameters
        ----------
        path
            Where it goes, in a directory that exists.
        """
        write_whole(Path(path), self._text.encode("ascii"))

    @cached_property
    def _text(self) -> str:
        record = self._record()
        record["seal"] = sha256_of(record)
        return json.dumps(record, allow_nan=False) + "\n"

    def _record(self) -> dict[str, Any]:
        settings, decision = self._settings, self._decision
        if is_python(settings.stopping):
            raise CertificateError(
                f"there is no certificate: the stopping rule {settings.stopping!r} was written in "
                "Python, and only those of this package can be derived again from the data"
            )
        data = _data_of(self._observations[: decision.samples], self._candidates.K)
        judgement = Judgement(settings, self._candidates, data)
        evidence = judgement.evidence(decision.answer)
        limiting = _limiting(evidence, decision.pair)
        plain = self._candidates.plain()
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "study": self._study_name,
            "versions": {
                "mislid": __version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
            "candidates": {**plain, "sha256": sha256_of(plain)},
            "settings": {name: settings.plain()[name] for name in SETTINGS},
            "data": _plain_data(data),
            "model": None if plain["features"] is None else _plain_model(judgement),
            "projection": _plain_projection(judgement),
            "decision": self._plain_decision(limiting),
            "evidence": [self._plain_evidence(one) for one in evidence],
            "limiting": self._plain_limiting(judgement, limiting),
        }

    def _plain_decision(self, limiting: PairEvidence) -> dict[str, Any]:
        from mislid.rules.stopping import STOPPING_RULES

        labels, rule = self._candidates.labels, self._settings.stopping
        return {
            "answer": [labels[arm] for arm in self._decision.answer],
            "rule": rule,
            "proven": STOPPING_RULES[rule].guaranteed,
            "pair": [labels[arm] for arm in limiting.pair],
            "statistic": _finite(limiting.statistic),
            "threshold": limiting.threshold,
        }

    def _plain_evidence(self, one: PairEvidence) -> dict[str, Any]:
        challenger, incumbent = (self._candidates.labels[arm] for arm in one.pair)
        found: dict[str, Any] = {
            "challenger": challenger,
            "incumbent": incumbent,
            "proof": one.proof,
            "statistic": _finite(one.statistic),
            "threshold": one.threshold,
        }
        if one.values is not None:
            found |= {"values": self._signed(one.values), "alpha": one.alpha}
        return found

    def _plain_limiting(self, judgement: Judgement, limiting: PairEvidence) -> dict[str, Any]:
        names = ("means", "theta", "deviation", "multipliers", "alpha", "cost", "bound", "gap")
        if math.isinf(limiting.statistic):
            return dict.fromkeys(names)  # no model reverses the pair
        closest = judgement.closest(limiting)
        theta = deviation = None
        if closest.theta is not None:
            theta = self._signed(_in_all_columns(judgement, closest.theta))
            deviation = self._signed(closest.means - judgement.linear(limiting))
        return {
            "means": self._signed(closest.means),
            "theta": theta,
            "deviation": deviation,
            "multipliers": self._signed(closest.multipliers),
            "alpha": closest.alpha,
            "cost": closest.cost,
            "bound": closest.bound,
            "gap": max(closest.cost - closest.bound, 0.0),
        }

    def _signed(self, values: Vector) -> list[float]:
        """In the user's sign."""
        return _plain(self._settings.sign * values)


def sha256_of(plain: Any) -> str:
    """SHA-256 of the canonical text: keys sorted, no spaces, ASCII, shortest exact decimals.

    >>> sha256_of({"labels": ["a", "b"], "features": None})[:12]
    '05ad6f4545ae'
    """
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _data_of(observations: Sequence[Observation], K: int) -> Data:
    """Counts and sums, added up in the order in which the rules did."""
    counts, sums = np.zeros((2, K))
    for one in observations:
        counts[one.arm] += 1.0
        sums[one.arm] += one.value
    return Data(counts, sums)


def _limiting(evidence: list[PairEvidence], recorded: tuple[int, int]) -> PairEvidence:
    """The pair that is hardest to tell apart: by the mixture, where that had to settle any."""
    open_ = [one for one in evidence if one.proof != PAIRWISE] or evidence
    hardest = min(open_, key=lambda one: one.ratio)
    for one in open_:
        if one.pair == recorded and one.ratio <= hardest.ratio * (1.0 + AS_HARD):
            return one
    return hardest


def _plain_data(data: Data) -> dict[str, Any]:
    counts = [int(count) for count in data.counts]
    means = [
        mean if count else None for mean, count in zip(_plain(data.means), counts, strict=True)
    ]
    return {"samples": sum(counts), "counts": counts, "sums": _plain(data.sums), "means": means}


def _plain_model(judgement: Judgement) -> dict[str, Any]:
    model = judgement.model
    columns = range(model.d) if model.reduction is None else model.reduction.kept
    return {"columns": list(columns), "spanner": judgement.at.basis.tolist()}


def _plain_projection(judgement: Judgement) -> dict[str, Any]:
    sign, projected = judgement.settings.sign, judgement.projected
    structured = math.isfinite(judgement.model.misspecification)
    cost = 0.5 * float(np.sum(judgement.weights * (projected - judgement.means) ** 2))
    return {
        "values": _plain(sign * judgement.projected_values) if structured else None,
        "means": _plain(sign * projected),
        "cost": cost,
        "bound": min(judgement.projection_bound, cost),
    }


def _in_all_columns(judgement: Judgement, theta: Vector) -> Vector:
    """Theta with zeros for the columns that the model does without."""
    reduction = judgement.model.reduction
    if reduction is None:
        return theta
    full = np.zeros(reduction.given)
    full[list(reduction.kept)] = theta
    return full


def _plain(values: Vector) -> list[float]:
    plain: list[float] = (values + 0.0).tolist()  # no -0.0
    return plain


def _finite(statistic: float) -> float | str:
    """JSON has no infinity."""
    return "inf" if math.isinf(statistic) else statistic
