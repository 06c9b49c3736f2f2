"""Drugs: read, restricted to those of known effect, and experiment D's means."""

import numpy as np

from mislid.model import load_instance
from mislid.paper.datasets import epilepsy
from mislid.simulation.environments import as_environment


def test_the_published_files(shared_data):
    """The paper says that 175 of the 509 drugs have known effects; the published scores, 27."""
    everything = epilepsy(shared_data, known_only=False)
    assert everything.signatures.shape == (509, 67)
    known = epilepsy(shared_data)
    assert (known.scores == 1).sum() == 18
    assert (known.scores == -1).sum() == 9
    assert set(known.rewarded) < set(known.drugs)
    effect = dict(zip(known.drugs, known.scores.tolist(), strict=True))
    assert [effect[drug] for drug in known.rewarded] == [1] * 5 + [-1] * 5
    assert np.linalg.matrix_rank(known.signatures_of(known.rewarded)) == 10


def test_experiment_d_has_the_patients_averages(shared_data):
    published = load_instance(shared_data / "instances" / "D.npz", 0.02)
    drugs = epilepsy(shared_data)
    made = drugs.to_instance(published.model.features, published.names, misspecification=0.02)
    np.testing.assert_array_equal(made.means, published.means)
    assert made.names == published.names
    table = drugs.environment(published.names)
    assert as_environment(table, published) is table
