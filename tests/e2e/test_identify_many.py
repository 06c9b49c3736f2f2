"""Real identifications, replicated: the same rows wherever they are done."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import mislid
from mislid.simulation.replicate import replicate_rows

SOURCE = Path(mislid.__file__).parents[1]
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


def test_a_cluster_and_its_address_on_the_command_line(instance, expected, tmp_path):
    distributed = pytest.importorskip("distributed")
    instance.save(tmp_path / "arms.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            rows = replicate_rows(instance, 1, client=client, **OPTIONS)
            call = f"run {tmp_path / 'arms.npz'} --m 1 --runs 6 --delta 0.1 --format json"
            done = subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "mislid",
                    *call.split(),
                    "--dask",
                    cluster.scheduler_address,
                ],
                env=os.environ | {"PYTHONPATH": str(SOURCE)},
                capture_output=True,
                text=True,
                check=False,
            )
    assert [row[:4] for row in rows] == expected
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["samples"] == [row[1] for row in expected]


def test_one_run_is_one_identification(instance, expected):
    seed = np.random.SeedSequence(0, spawn_key=(4,))
    found = mislid.identify(instance, 1, delta=0.1, seed=seed)
    assert (found.samples, found.correct, found.status) == expected[4][1:]
