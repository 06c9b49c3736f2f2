"""Studies at levels where doubles have few digits left, and with values of absurd sizes."""

import warnings
from typing import Any

import numpy as np
import pytest

import mislid
from mislid.errors import ProblemError


@pytest.mark.parametrize("value", [1e76, -1e200, 1.4e154])
def test_values_whose_squares_are_no_numbers_are_refused(value: float) -> None:
    study = mislid.create_study(candidates=["a", "b"], m=1, noise=1.0)
    with pytest.raises(ProblemError, match="between -1e\\+75 and 1e\\+75"):
        study.add_observations([("a", value)])
    with pytest.raises(ProblemError, match="value must be between"):
        study.tell(study.ask(), value)


@pytest.mark.parametrize("noise", [6.6e153, 1e-160])
def test_noise_whose_square_is_no_number_is_refused_at_creation(noise: float) -> None:
    with pytest.raises(ProblemError, match="noise must be between"):
        mislid.create_study(candidates=["a", "b"], m=1, noise=noise)


def at_level(level: float, noise: float, gap: float, n: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    study = mislid.create_study(candidates=["a", "b"], m=1, noise=noise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(n):
            values = level + np.array([gap, 0.0]) * noise + noise * rng.normal(size=2)
            study.add_observations(list(zip("ab", values.tolist(), strict=True)))
            if study.status != "running":
                break
    return study


@pytest.mark.parametrize(("level", "noise"), [(1e11, 1e-3), (1e15, 1.0), (-3e13, 0.1), (1e30, 1.0)])
def test_rounding_decides_nothing(level: float, noise: float) -> None:
    """Arms that are equal: whoever adds up in doubles finds one of them better in the end."""
    for seed in range(6):
        study = at_level(level, noise, 0.0, 200, seed)
        assert study.status != "decided"


def test_what_can_be_told_in_spite_of_rounding_is_decided() -> None:
    study = at_level(1e11, 1e-3, 8.0, 200, 0)
    assert (study.status, study.result.answer) == ("decided", ("a",))
    assert mislid.verify(study.result.certificate.to_dict()).proven


def test_sums_are_those_of_exact_arithmetic() -> None:
    study = mislid.create_study(candidates=["a", "b"], m=1, noise=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.add_observations([("a", 1e9), ("a", 0.1), ("a", -1e9), ("a", 0.2), ("b", -9.0)] * 9)
    assert study._now().settings.noise == (0.1,)
    engine = mislid.Engine(mislid.Question(mislid.Model([[1.0], [1.0]], np.inf), m=1, noise=0.1))
    for value in (1e16, 1.0, -1e16, 1.0):
        engine.observe(0, value)
    assert engine.sums[0] == 2.0
    assert engine.means[0] == 0.5
