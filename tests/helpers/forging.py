"""Forged certificates: made-up data, with the evidence that the checker asks for."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import mislid
from helpers.tampering import digest, sealed
from mislid.verification import Verification

_WANTED = re.compile(r"(evidence|tests)\[(\d+)\]\.evidence must be (\S+);")


@dataclass(frozen=True)
class Forgery:
    """What a forger claims: data of known noise, an answer, and a proof of each pair."""

    features: Any  # (K, d), or None
    counts: list[int]
    sums: list[float]
    noise: float = 1.0
    eps: float = math.inf
    tol: float = 0.0
    delta: float = 0.05
    answer: tuple[int, ...] = (0,)
    spanner: list[int] = field(default_factory=list)
    columns: list[int] | None = None
    # By pair (challenger, incumbent): family, scale, values, alpha.
    proofs: dict[tuple[int, int], tuple[str, int, list[float], float]] = field(default_factory=dict)

    @property
    def K(self) -> int:
        return len(self.counts)

    def pairs(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(self.K) for j in self.answer if i not in self.answer]

    def certificate(self, stated: dict[tuple[str, int], float]) -> dict[str, Any]:
        """A file with this evidence stated for entries and tests, by their number."""
        plain = {"labels": [f"arm {k}" for k in range(self.K)], "features": self.features}
        entries = []
        for n, (i, j) in enumerate(self.pairs()):
            family, scale, values, alpha = self.proofs.get((i, j), ("two arms", 0, [], 0.0))
            entry = {"challenger": f"arm {i}", "incumbent": f"arm {j}", "family": family}
            entry |= {"samples": sum(self.counts), "evidence": stated.get(("evidence", n), 0.0)}
            if family == "diagonal":
                entry |= {"scale": scale, "values": values, "alpha": alpha}
            entries.append(entry)
        hardest = min(entries, key=lambda one: one["evidence"])
        structured = self.features is not None and math.isfinite(self.eps)
        levels = [("noise", 0.01), ("misspecification", self.delta)][: 1 + structured]
        tests = [
            {"of": of, "level": level, "evidence": stated.get(("tests", n), 0.0)}
            | {"threshold": -math.log(level)}
            for n, (of, level) in enumerate(levels)
        ]
        data = {"samples": sum(self.counts), "counts": self.counts, "sums": self.sums}
        data["scatter"] = None
        return sealed({
            "schema": "mislid-certificate",
            "version": 3,
            "study": "forged",
            "versions": {"mislid": "0.2.0", "numpy": "2", "python": "3"},
            "candidates": {**plain, "sha256": digest(plain)},
            "settings": {
                "m": len(self.answer), "delta": self.delta, "noise": [self.noise],
                "misspecification": "inf" if math.isinf(self.eps) else self.eps,
                "tolerance": self.tol, "direction": "maximize", "algorithm": "uniform",
                "stopping": "guaranteed", "seed": 0, "mean_bound": 1.0,
                "structured": structured, "noise_model": "known", "reward_range": None,
            },
            "data": data,
            "model": None if self.features is None else {
                "columns": self.columns or list(range(len(self.features[0]))),
                "spanner": self.spanner,
            },
            "times": [],
            "decision": {
                "answer": [f"arm {k}" for k in self.answer], "rule": "guaranteed", "proven": True,
                "pair": [hardest["challenger"], hardest["incumbent"]],
                "evidence": hardest["evidence"], "level": -math.log(self.delta),
            },
            "evidence": entries,
            "now": {**data, "squares": [0.0] * self.K},
            "tests": tests,
            "log": {"corrections": [], "declarations": [], "contradictions": []},
        })  # fmt: skip

    def verified(self) -> Verification:
        """What the checker says once all evidence is stated as it asks for."""
        stated: dict[tuple[str, int], float] = {}
        for _ in range(len(self.pairs()) + 3):
            outcome = mislid.verify(self.certificate(stated))
            asked = _WANTED.search(outcome.failure or "")
            if asked is None or not math.isfinite(float(asked[3])):
                break
            stated[asked[1], int(asked[2])] = float(asked[3])
        return outcome

    def reported(self, pair: tuple[int, int]) -> float:
        """How much evidence the checker finds in a pair: minus infinity where it says nothing."""
        alone = replace(self, proofs={pair: self.proofs[pair]}) if pair in self.proofs else self
        stated = {("evidence", n): 1e300 for n, one in enumerate(alone.pairs()) if one == pair}
        asked = _WANTED.search(mislid.verify(alone.certificate(stated)).failure or "")
        found = float(asked[3]) if asked and asked[1] == "evidence" else -math.inf
        return found if math.isfinite(found) else -math.inf


def forged(rng: np.random.Generator, K: int = 4, d: int = 2, eps: float = 0.0) -> Forgery:
    """Data that settle nothing: means that are closer than the noise, or the wrong way round."""
    features = rng.normal(size=(K, d))
    model = mislid.Model(features, eps)
    counts = rng.integers(1, 60, size=K)
    means = features @ rng.normal(size=d) * 0.02 + 0.02 * rng.normal(size=K)
    return Forgery(
        features=features.tolist(),
        counts=counts.tolist(),
        sums=(counts * means).tolist(),
        eps=eps,
        answer=(int(np.argmin(means)),),
        spanner=mislid.spanner(model).tolist(),
    )
