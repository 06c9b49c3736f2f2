"""Drugs: read, restricted to those of known effect, and experiment D's means."""

import numpy as np
import pytest

from mislid.errors import FileFormatError
from mislid.model import load_instance
from mislid.paper.datasets import epilepsy
from mislid.paper.datasets.catalogue import DataFile
from mislid.simulation.environments import as_environment

SIGNATURES = "epilepsy_signatures_nonbinarized.csv"
SCORES = "epilepsy_scores.csv"
REWARDS = "rewards_cosine_10drugs_18samples.csv"
REWARDED = ["Hydroxyzine", "Acetazolamide", "Pentobarbital", "Topiramate", "Diazepam"]
REWARDED += ["Dmcm", "Brucine", "Fipronil", "Flumazenil", "Fg-7142"]


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    """Files of the published shape with other numbers, whose checksums count as right."""
    drugs = [*REWARDED, *(f"drug {k}" for k in range(499))]
    ids = range(1000, 1509)
    below = tmp_path / "epilepsy"
    below.mkdir()
    numbers = rng.standard_normal((67, 509)).tolist()
    lines = ["," + ",".join(map(str, ids))]
    lines += [f"GENE{k},{','.join(map(repr, row))}" for k, row in enumerate(numbers)]
    (below / SIGNATURES).write_text("\n".join(lines) + "\n")
    scores = [1] * 5 + [-1] * 5 + [0] * 499
    rows = [
        f"{number},{drug},{score}" for number, drug, score in zip(ids, drugs, scores, strict=True)
    ]
    (below / SCORES).write_text("\n".join([",drug_name,score", *rows]) + "\n")
    rewards = rng.random((18, 10)).tolist()
    (below / REWARDS).write_text("".join(" ".join(map(repr, row)) + "\n" for row in rewards))
    monkeypatch.setattr(DataFile, "is_right", lambda *_: True)
    return tmp_path


@pytest.mark.parametrize("name", [SIGNATURES, SCORES, REWARDS])
def test_files_that_are_not_the_published_ones(folder, name, monkeypatch):
    right = {f"epilepsy/{name}" for name in (SIGNATURES, SCORES, REWARDS)} - {f"epilepsy/{name}"}
    monkeypatch.setattr(DataFile, "is_right", lambda file, _: file.path in right)
    with pytest.raises(FileFormatError, match="fetch epilepsy") as caught:
        epilepsy(folder)
    assert str(folder / "epilepsy" / name) in str(caught.value)


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
