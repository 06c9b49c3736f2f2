"""How often certificates prove something wrong, at every look, where candidates are nearly even.

A forger looks after every round and claims the leader at the first time at which the data settle
it. With all weights in place this fails in at most delta of the runs; a broken twin whose pairs
have far too much weight fails in more.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from mislid.verification import question, verify

DELTA, RUNS, K, ROUNDS = 0.3, 120, 6, 40


def certificate(arm: list[int], value: list[float], noise: dict[str, Any]) -> dict[str, Any]:
    """A claim that the leader is the best, by all of these values."""
    means = np.bincount(arm, weights=value, minlength=K) / np.bincount(arm, minlength=K)
    best, N = int(np.argmax(means)), len(arm)
    return {
        "format": 1,
        "study": {"name": "level", "head": None},
        "question": {
            "labels": list(range(K)), "features": None, "m": 1, "delta": DELTA, "tolerance": 0.0,
            "direction": "maximize", "misspecification": None, "noise": noise,
        },
        "changes": [],
        "data": {"arm": arm, "value": value, "count": None, "squares": None},
        "claim": {
            "answer": [best],
            "pairs": [[i, best, "two arms", N] for i in range(K) if i != best],
        },
    }  # fmt: skip


def failures(kind: str) -> int:
    """Runs in which a wrong leader is proven at some look: the last candidate is best by little."""
    rng, wrong = np.random.default_rng(0), 0
    noise: dict[str, Any] = {"kind": kind}
    noise |= {"sd": [1.0]} if kind == "known" else {}
    noise |= {"low": 0.0, "high": 1.0} if kind == "range" else {}
    for _ in range(RUNS):
        arm, value = list[int](), list[float]()
        for turn in range(ROUNDS):
            arm += range(K)
            if kind == "range":
                value += rng.beta(2.0, 2.0, size=K).tolist()
            else:
                value += rng.normal(size=K).tolist()
            if turn % 3 != 2:
                continue
            found = verify(certificate(arm, value, noise))
            if found.proven:
                wrong += found.answer != (K - 1,)
                break
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["known", "range", "unknown-equal"])
def test_wrong_answers_are_rare(kind: str) -> None:
    assert failures(kind) <= binom.isf(1e-4, RUNS, DELTA)


@pytest.mark.slow
def test_a_twin_with_too_much_weight_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question.Question, "share", lambda *_: Fraction(8))
    assert failures("known") > binom.isf(1e-4, RUNS, DELTA)
