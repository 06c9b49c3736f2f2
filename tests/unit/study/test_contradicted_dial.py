"""The dial of a study whose noise is refuted claims no proof."""

from __future__ import annotations

import pytest

import mislid

FEATURES = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0], "d": [0.5, 0.2]}
VALUES = {"a": 0.3, "b": 0.5, "c": 0.8, "d": 0.25}


def told(noise: float, scatter: float) -> mislid.Study:
    study = mislid.create_study(
        candidates=FEATURES, m=1, noise=noise, misspecification=0.1, intercept=False
    )
    study.add_observations(
        [(arm, mean + sign * scatter) for arm, mean in VALUES.items() for sign in (-1, 1)] * 6
    )
    return study


def test_it_does_where_the_noise_stands() -> None:
    found = told(0.1, 0.1).sensitivity()
    assert found.proven
    assert found.statement.startswith("proved for every")


@pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
def test_it_does_not_where_the_noise_is_refuted() -> None:
    study = told(0.02, 0.1)
    assert study.status == "contradicted"
    for found in (study.sensitivity(), study.overview().sensitivity):
        assert found is not None
        assert not found.proven
        assert "without a proof" in found.statement
