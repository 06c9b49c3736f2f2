"""Units do not matter: rewards, noise, misspecification and tolerance scaled together, same runs.

Powers of two scale without rounding, so that runs must agree in every measurement.
"""

import numpy as np
import pytest

from helpers.small import PAIRINGS, SMALL
from mislid import Instance, Model, identify


def in_units(instance: Instance, unit: float) -> Instance:
    model = Model(instance.model.features, unit * instance.model.misspecification)
    return Instance(model, unit * instance.means, noise=unit * instance.noise)


@pytest.mark.parametrize("tolerance", [0.0, 0.1])
@pytest.mark.parametrize(("algorithm", "stopping"), PAIRINGS)
def test_units_do_not_matter(algorithm: str, stopping: str, tolerance: float) -> None:
    options = {"algorithm": algorithm, "stopping": stopping, "seed": 3, "max_samples": 400}
    for question in SMALL.values():
        if not question.allows(algorithm):
            continue
        plain = identify(*question, tolerance=tolerance, **options)
        for unit in (2.0**-12, 2.0**10):
            other = in_units(question.instance, unit)
            found = identify(other, question.m, tolerance=unit * tolerance, **options)
            assert (found.status, found.answer) == (plain.status, plain.answer)
            np.testing.assert_array_equal(found.counts, plain.counts)
            np.testing.assert_array_equal(found.means, unit * plain.means)


def test_other_units_are_another_question() -> None:
    """Scaling means alone is noticed."""
    instance, m = SMALL["tube"]
    model = Model(instance.model.features, 2.0 * instance.model.misspecification)
    other = Instance(model, 2.0 * instance.means, noise=instance.noise)
    assert identify(other, m).samples < identify(instance, m).samples
