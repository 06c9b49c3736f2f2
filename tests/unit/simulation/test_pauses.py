"""Pauses change nothing in a run, and Ctrl-C ends it."""

import os
import signal
from unittest.mock import patch

import numpy as np
import pytest

from mislid import Instance, Model
from mislid.simulation import identify as module
from mislid.simulation.environments import Environment
from mislid.simulation.identify import identify

FEATURES = np.random.default_rng(2).normal(size=(8, 3))
MEANS = np.array([2.0, 1.6, 0.9, 0.7, 0.4, 0.1, -0.3, -0.8])
INSTANCE = Instance(Model(FEATURES, 1.3), MEANS, noise=0.8)


@pytest.mark.parametrize("algorithm", ["mislid", "mislid-paper", "mislid-authors"])
def test_ties_are_broken_alike_after_a_pause(algorithm: str) -> None:
    """At the walls of the tube arms can tell an alternative apart equally well.

    The last digits choose between them, so nothing may be computed twice.
    """
    for seed in range(4):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(8, 1))
        means = features[:, 0] + rng.uniform(-0.5, 0.5, 8)
        instance = Instance(Model(features, 0.5), means, noise=0.5)
        options = {"algorithm": algorithm, "max_samples": 600, "seed": seed}
        alone = identify(instance, 3, **options)
        with patch.object(module, "PAUSE", 1):
            found = identify(instance, 3, **options)
        np.testing.assert_array_equal(found.counts, alone.counts)
        np.testing.assert_array_equal(found.means, alone.means)


DRAWN: list[int] = []


class Pressing(Environment):
    """Ctrl-C at the 80th reward."""

    def sample(self, arm, size, generator):
        DRAWN.append(arm)
        if len(DRAWN) == 80:
            os.kill(os.getpid(), signal.SIGINT)
        return MEANS[arm] + 0.8 * generator.standard_normal(size)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
def test_ctrl_c_interrupts() -> None:
    found = identify(INSTANCE, 2, environment=Pressing(MEANS, 0.8))
    assert (found.status, found.answer) == ("interrupted", None)
    assert 79 <= found.samples <= 80
