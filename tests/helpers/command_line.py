"""The command in another process, also with a fake `identify` whose rows are quick and known."""

import os
import re
import subprocess
import sys
from pathlib import Path

import mislid
from mislid._jit import MESSAGE

SOURCE = Path(mislid.__file__).parents[1]
TESTS = Path(__file__).resolve().parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(TESTS)])}
REAL = ("-m", "mislid")
FAKED = """
import sys
from helpers.fake_runs import FakeJob
from mislid.simulation import replicate
replicate.Job = FakeJob
from mislid.cli import main
sys.exit(main(sys.argv[1:]))
"""


def command(*arguments, start=REAL, **options):
    """Run it to its end."""
    done = subprocess.run(
        [sys.executable, *start, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **{"env": ENVIRONMENT, **options},
    )
    done.stderr = without_notice(done.stderr)
    return done


def without_notice(err):
    """Leave out that kernels are being compiled, which only the first call of all says."""
    return re.sub(rf"\r?\n?{re.escape(MESSAGE)}\n", "", err)


def fake(*arguments, **options):
    """Run it to its end with the other `identify`."""
    return command(*arguments, start=("-c", FAKED), **options)
