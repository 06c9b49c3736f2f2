"""Large certificates take bounded memory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

MEASURED = """
import resource, sys
from mislid.verification import verify
found = verify(sys.argv[1])
assert found.proven, found.failure
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("K", "d", "N"), [(12, 3, 1_252), (100, 20, 20_000), (100, 20, 200_000)])
def test_memory_of_large_certificates(K: int, d: int, N: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(K, d))
    means = X @ rng.normal(size=d) / np.sqrt(d) + 0.02 * rng.uniform(-1.0, 1.0, size=K)
    arm = np.arange(N) % K
    best = np.argsort(-means)[:3].tolist()
    pairs = [[i, j, "linear", N] for i in range(K) if i not in best for j in best]
    plain = {
        "format": 1,
        "study": {"name": "large", "head": None},
        "question": {
            "labels": list(range(K)), "features": X.tolist(), "m": 3, "delta": 0.05,
            "tolerance": 0.3, "direction": "maximize", "misspecification": 0.02,
            "noise": {"kind": "known", "sd": [0.2]},
        },
        "changes": [],
        "data": {
            "arm": arm.tolist(), "value": (means[arm] + 0.2 * rng.normal(size=N)).tolist(),
            "count": None, "squares": None,
        },
        "claim": {"answer": best, "pairs": pairs},
    }  # fmt: skip
    (tmp_path / "large.json").write_text(json.dumps(plain))
    command = [sys.executable, "-c", MEASURED, str(tmp_path / "large.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 500_000  # kB
