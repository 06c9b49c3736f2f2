"""A few lines of Python in another process."""

import os
import subprocess
import sys
from pathlib import Path

import mislid

SOURCE = Path(mislid.__file__).parents[1]


def run_script(script: str, source: Path = SOURCE, **environment: str) -> tuple[str, str]:
    """What it prints and what it says on stderr, with the package of `source`."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(source)} | environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()
