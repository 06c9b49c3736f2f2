"""Timings against general solvers; see docs/benchmarks.md."""

import os

# One thread for every solver. Libraries read these when they are loaded, so this comes first.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[_name] = "1"
