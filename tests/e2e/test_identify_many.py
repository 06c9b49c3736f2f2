"""Real identifications, replicated: the same rows wherever they are done."""

import numpy as np
import pytest

import mislid
from mislid.simulation.replicate import replicate_rows

OPTIONS = {"runs": 6, "delta": 0.1}


@pytest.fixture(scope="module")
def instance():
    model = mislid.Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1)
    return mislid.Instance(model, [0.1, 0.5, 0.9])


@pytest.fixture(scope="module")
def expected(instance):
    return [row[:4] for row in replicate_rows(instance, 1, **OPTIONS)]


def test_processes(instance, expected):
    assert [row[:4] for row in replicate_rows(instance, 1, jobs=2, **OPTIONS)] == expected


def test_one_run_is_one_identification(instance, expected):
    seed = np.random.SeedSequence(0, spawn_key=(4,))
    found = mislid.identify(instance, 1, delta=0.1, seed=seed)
    assert (found.samples, found.correct, found.status) == expected[4][1:]
