"""The same numbers, to the last bit, whether the kernels were just compiled or loaded from disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import hashlib
import numpy as np
from mislid import Model, closest_alternative, pair_alternative, project
digest = hashlib.sha256()
for seed in range(60):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(5, 60))
    d = int(rng.integers(2, min(K, 12)))
    features = rng.normal(size=(K, d))
    means = features @ rng.normal(size=d) + rng.uniform(-0.1, 0.1, K)
    weights = rng.exponential(size=K)
    model = Model(features, 0.1)
    closest = closest_alternative(model, means, weights, 2)
    one = pair_alternative(model, means, weights, *closest.pair)
    for found in (closest, one, project(model, means + rng.normal(size=K), weights)):
        digest.update(found.means.tobytes() + found.multipliers.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_fresh_and_stored_kernels_agree(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    said = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert said[0] == said[1]
