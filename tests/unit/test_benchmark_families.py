import numpy as np
import pytest
from benchmarks.families import FAMILIES, SMALLEST_GAP, TIME

from mislid import characteristic_time, project


@pytest.fixture(params=FAMILIES, ids=lambda family: family.name)
def family(request):
    return request.param


def test_instances_are_models_with_a_unique_answer_and_the_same_time(family):
    instance = family.instance(0)
    assert instance.model.features.shape == (family.K, family.d)
    assert np.linalg.matrix_rank(instance.model.features) == family.d
    nearest = project(instance.model, instance.means, np.ones(family.K))
    np.testing.assert_allclose(nearest.means, instance.means, atol=1e-7)
    ordered = np.sort(instance.means)[::-1]
    assert ordered[family.m - 1] - ordered[family.m] >= 0.999 * SMALLEST_GAP * ordered.std()
    time = characteristic_time(instance.model, instance.means, family.m, noise=instance.noise)
    # Both times are solved to a relative accuracy of 1e-3.
    np.testing.assert_allclose(time.value, TIME, rtol=3e-3)
