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


@pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
def test_it_does_not_where_the_noise_is_refuted() -> None:
    study = told(0.02, 0.1)
    assert study.status == "contradicted"
    for found in (study.sensitivity(), study.overview().sensitivity):
        assert found is not None
        assert not found.proven
        assert found.statement.startswith("nothing is proved")


@pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning")
def test_nothing_is_said_to_be_proved_or_to_go_where_the_noise_is_refuted() -> None:
    """As a server, `status` and reports show it."""
    assert told(0.1, 0.1).overview().proved is not None
    refuted = told(0.02, 0.1).overview()
    assert refuted.proved is None
    plain = refuted.to_dict()
    assert (plain["proved_up_to"], plain["refuted_below"], plain["proven"]) == (None, None, False)
    assert (refuted.progress.more, refuted.progress.statistic) == (None, None)
    assert refuted.what_ifs
    assert not any(one.decided_now for one in refuted.what_ifs)
