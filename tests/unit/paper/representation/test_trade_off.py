"""The table of choices: each number is what its own function says."""

import numpy as np
import pytest

import mislid
from mislid.paper.representation import learn

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def learned():
    rng = np.random.default_rng(11)
    X = rng.uniform(size=(12, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    return learn(X, y, hidden=(16,), width=3, epochs=60)


@pytest.fixture(scope="module")
def trade_off(learned):
    return learned.trade_off(3, noise=0.5)


def test_numbers_are_those_of_the_functions(learned, trade_off):
    for choice in trade_off.choices:
        plain = learned.reduce(choice.d, order=choice.order)
        model = mislid.Model(plain.features, choice.misspecification)
        assert choice.misspecification == plain.misspecification
        least = mislid.geometry.smallest_misspecification(model, learned.means)
        assert choice.least_misspecification == pytest.approx(least, rel=1e-9)
        assert choice.condition == plain.condition
        assert choice.pulls == mislid.geometry.initial_pulls(model)
        white = learned.reduce(choice.d, order=choice.order, whiten=True).to_instance().model
        assert choice.white_pulls == mislid.geometry.initial_pulls(white)
        time = mislid.characteristic_time(model, learned.means, 3, noise=0.5)
        assert choice.time == pytest.approx(time.value, rel=0.011)
