"""Honest certificates: simulated data, and pairs with the times at which brute force settles them.

`honest` draws a problem of any noise kind, with or without features, with candidates that come and
leave, and values told together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oracles.certificates import LOSSES, Data, Study

KINDS = ("known", "unknown", "unknown-equal", "bernoulli", "range")
RNG = np.random.Generator


def drawn(rng: RNG, kind: str = "known", *, features: bool = False, changes: bool = False,
          together: bool = False, rounds: int = 40, K: int | None = None,
          spread: float = 2.0) -> dict[str, Any]:  # fmt: skip
    """A study without a claim; means are `spread` standard deviations apart, about."""
    K = int(rng.integers(3, 6)) if K is None else K
    added = int(rng.integers(1, 3)) if changes else 0
    R, d, m = K + added, 2, int(rng.integers(1, min(K - 1, 3)))
    sd = 0.5 * np.exp(0.3 * rng.normal(size=R)) if rng.random() < 0.5 else np.full(R, 0.5)
    sign = 1.0 if rng.random() < 0.7 else -1.0
    X = rng.normal(size=(R, d))
    means = (X @ rng.normal(size=d) if features else rng.normal(size=R)) * spread * 0.5
    eps = 0.2 * float(rng.integers(0, 2))
    means = means + eps * rng.uniform(-1.0, 1.0, size=R)
    low, high = -1.0, 2.0
    if kind in ("bernoulli", "range"):
        eps = 0.1 * eps
        X[:, 0], X[:, 1] = 1.0, rng.permutation(np.linspace(-0.4, 0.4, R))
        share = 0.5 + min(spread, 2.0) / 2.0 * X[:, 1]
        share = np.clip(share + eps * rng.uniform(-1.0, 1.0, size=R), 0.02, 0.98)
        means = share if kind == "bernoulli" else low + (high - low) * share
        eps = (eps + 0.05) * (1.0 if kind == "bernoulli" else high - low)
    noise: dict[str, Any] = {"kind": kind}
    if kind == "known":
        even = bool(np.all(sd == sd[0]))
        noise["sd"] = sd[:1].tolist() if even else sd[:K].tolist()
    if kind == "range":
        noise |= {"low": low, "high": high}
    arm, value, count, squares = [], [], [], []
    log: list[dict[str, Any]] = []
    for turn in range(rounds):
        if turn == 3 and added:
            log.append({
                "after": len(arm), "kind": "add", "labels": [f"new {k}" for k in range(added)],
                "features": X[K:].tolist() if features else None,
                "sd": sd[K:].tolist() if len(noise.get("sd", [1])) > 1 else None,
            })  # fmt: skip
        for k in rng.permutation(R if turn >= 3 else K).tolist():
            n = int(rng.integers(2, 6)) if together and rng.random() < 0.3 else 1
            values = means[k] + sd[k] * rng.normal(size=n)
            if kind == "unknown-equal":
                values = means[k] + 0.5 * rng.normal(size=n)
            if kind == "bernoulli":
                values = (rng.random(n) < means[k]).astype(float)
            if kind == "range":
                part = (means[k] - low) / (high - low)
                values = low + (high - low) * rng.beta(8 * part, 8 * (1 - part), size=n)
            arm.append(k)
            value.append(float(sign * values.mean()))
            count.append(n)
            squares.append(float(np.sum((values - values.mean()) ** 2)) if n > 1 else 0.0)
    if changes and m + 1 < K:
        log.append({"after": len(arm) // 2, "kind": "leave", "label": "arm 0"})
    if sign < 0.0 and kind == "range":
        noise |= {"low": -high, "high": -low}
    if sign < 0.0 and kind == "bernoulli":  # the share of the other value
        value = [1.0 + one for one in value]
    plural = max(count) > 1
    return {
        "format": 1,
        "study": {"name": "simulated", "head": None},
        "question": {
            "labels": [f"arm {k}" for k in range(K)],
            "features": X[:K].tolist() if features else None,
            "m": m, "delta": 0.05, "tolerance": 0.1 * float(rng.integers(0, 2)),
            "direction": "maximize" if sign > 0.0 else "minimize",
            "misspecification": eps if features else None, "noise": noise,
        },
        "changes": log,
        "data": {
            "arm": arm, "value": value, "count": count if plural else None,
            "squares": squares if plural and kind != "bernoulli" else None,
        },
        "claim": {"answer": [], "pairs": []},
    }  # fmt: skip


def times_of(plain: dict[str, Any]) -> list[int]:
    N = len(plain["data"]["arm"])
    return sorted({N // 4, N // 2, 3 * N // 4, N} - {0})


def claimed(plain: dict[str, Any]) -> dict[str, Any] | None:
    """The same with a claim that brute force settles with room to spare; None if there is none."""
    study = Study(plain)
    moments = {time: Data(study, plain["data"], time) for time in times_of(plain)}
    last = moments[max(moments)]
    if not np.all(last.counts[study.present()] > 0.0):
        return None
    order = sorted(study.present(), key=lambda k: -last.means[k])
    best, pairs = order[: study.m], []
    needed = -math.log(study.delta) + LOSSES[study.kind] + 1e-3
    families = ("two arms", "linear", "diagonal") if study.linear else ("two arms",)
    for i in order[study.m :]:
        for j in best:
            found = next((
                [i, j, family, time]
                for time, moment in moments.items()
                for family in families
                if math.log(study.share(family, i, j)) + moment.evidence(family, i, j) >= needed
            ), None)  # fmt: skip
            if found is None:
                return None
            pairs.append(found)
    answer = [study.labels[k] for k in best]
    return {**plain, "claim": {"answer": answer, "pairs": pairs}}


def honest(rng: RNG, kind: str = "known", **options: Any) -> dict[str, Any]:
    """A certificate that the checker is to find proven, unless the data refute what is true."""
    for _ in range(200):
        found = claimed(drawn(rng, kind, **options))
        if found is not None:
            return found
    raise AssertionError("no claim was reached")
