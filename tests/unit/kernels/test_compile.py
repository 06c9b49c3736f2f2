"""The kernels are ordinary Python too: without the compiler they give the same numbers."""

import json
import os
import subprocess
import sys

import numpy as np
from numpy.testing import assert_allclose

SCRIPT = """
import json, sys
import numpy as np
from mislid.geometry.alternatives import AlternativeSearch, pair_alternative
from mislid.geometry.projection import project
from mislid.model import Model

answers = []
for n in range(8):
    rng = np.random.default_rng(n)
    K, d = int(rng.integers(3, 8)), int(rng.integers(1, 3))
    model = Model(rng.normal(size=(K, d)), float(rng.choice([0.0, 0.05, 0.3])))
    means, weights = rng.normal(size=K), rng.uniform(0.1, 1, K)
    weights[rng.integers(K)] *= float(rng.choice([0.0, 1e-9, 1.0]))
    search = AlternativeSearch(model, 1)
    found = [project(model, means, weights), pair_alternative(model, means, weights, 0, 1)]
    for _ in range(3):
        found.append(search.closest(means, weights, tolerance=0.1))
        means = means + 0.1 * rng.normal(size=K)
    answers.append([(a.cost, a.bound, a.means.tolist()) for a in found])
from mislid.geometry import _newton
print(json.dumps({"compiled": hasattr(_newton.solve, "signatures"), "answers": answers}))
"""


def run(plain: bool) -> tuple[bool, list[object]]:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1" if plain else "0"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return answer["compiled"], answer["answers"]


def test_plain_python_agrees_with_compiled_code() -> None:
    was_compiled, compiled = run(plain=False)
    is_compiled, plain = run(plain=True)
    assert was_compiled
    assert not is_compiled
    for one, other in zip(compiled, plain, strict=True):
        for (cost, bound, means), (cost2, bound2, means2) in zip(one, other, strict=True):
            # Sums are taken in another order, so the last steps may differ in rounding.
            assert_allclose([cost, bound], [cost2, bound2], rtol=1e-9, atol=1e-15)
            assert_allclose(np.array(means), np.array(means2), rtol=1e-6, atol=1e-9)
