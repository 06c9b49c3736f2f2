"""Questions to a study besides its own, at any moment; warnings of NumPy would fail these tests."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import mislid
from mislid.errors import MislidError
from mislid.study import Study

FEATURES = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [-1.0, 0.5]}
VALUES = {"a": 0.0, "b": 1.0, "c": 1.0, "d": 0.0}
LOOKS = (
    *("status", "result_now", "ranking", "sensitivity", "progress", "warnings", "overview"),
    *("estimate_rows", "observation_rows", "features_check", "budget_check"),
)


def stages(**question: Any) -> Iterator[Study]:
    """A study before its first measurement, with some candidates measured, and with all."""
    study = mislid.create_study(**question)
    yield study
    for arms in ("a", "a", "bb", "abcd", "abcd" * 5):
        study.add_observations([(arm, VALUES[arm]) for arm in arms])
        yield study


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_sides_are_those_of_the_intervals(direction: str) -> None:
    question = {"candidates": list("abcd"), "m": 1, "noise": 0.3, "direction": direction}
    for study in stages(**question):
        rows = {row.label: row for row in study.estimate_rows()}
        for at in (-1.5, 0.4, 7.0):
            found = study.threshold(at)
            assert set(found.above) == {arm for arm, row in rows.items() if row.lower > at}
            assert set(found.below) == {arm for arm, row in rows.items() if row.upper < at}
            assert sorted((*found.above, *found.below, *found.open)) == list("abcd")
            lows = [rows[arm].lower for arm in found.above]
            assert lows == sorted(lows, reverse=True)


@pytest.mark.parametrize(
    "declared",
    [
        {"noise": 0.3},
        {"noise": np.array([0.3, 0.2, 0.3, 0.4])},
        {"noise": "unknown"},
        {"noise": "unknown-equal"},
        {"noise": (0.0, 1.0)},
        {"noise": "bernoulli"},
        {"noise": 0.3, "stopping": "heuristic"},
        {"noise": 0.3, "misspecification": 0.6, "budget": 40},
    ],
    ids=str,
)
def test_one_may_look_at_any_time(declared: dict[str, Any]) -> None:
    for study in stages(candidates=FEATURES, m=1, **declared):
        for name in LOOKS:
            with suppress(MislidError):  # such as before there is an estimate
                look = getattr(study, name)
                assert repr(look() if callable(look) else look)
