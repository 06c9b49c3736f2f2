"""Looking at a run changes nothing in it."""

import os
import signal

import numpy as np
import pytest

from mislid import Instance, Model
from mislid.simulation.identify import identify

FEATURES = np.random.default_rng(2).normal(size=(8, 3))
MEANS = np.array([2.0, 1.6, 0.9, 0.7, 0.4, 0.1, -0.3, -0.8])
INSTANCE = Instance(Model(FEATURES, 1.3), MEANS, noise=0.8)


def watched(**options):
    seen = []
    return identify(INSTANCE, 2, callback=seen.append, **options), seen


@pytest.mark.parametrize("algorithm", ["mislid", "mislid-paper", "mislid-authors"])
def test_ties_are_broken_as_without_a_callback(algorithm: str) -> None:
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
        found = identify(instance, 3, **options, callback=lambda progress: None, every=1)
        np.testing.assert_array_equal(found.counts, alone.counts)
        np.testing.assert_array_equal(found.means, alone.means)


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
def test_ctrl_c_in_a_callback_interrupts() -> None:
    def press(progress):
        if progress.samples == 80:
            os.kill(os.getpid(), signal.SIGINT)

    found = identify(INSTANCE, 2, callback=press, every=40)
    assert (found.status, found.answer, found.samples) == ("interrupted", None, 80)
