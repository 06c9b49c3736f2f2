"""The example of Last.fm, from the raw file to an answer."""

import subprocess
import sys

import pytest

import mislid
from helpers.command_line import ENVIRONMENT, SOURCE


@pytest.mark.slow
def test_last_fm_from_the_raw_file(shared_data, tmp_path):
    script = SOURCE.parent / "examples" / "lastfm.py"
    options = ["--data", shared_data, "--epochs", "5", "--runs", "1", "--algorithm", "lucb"]
    done = subprocess.run(
        [sys.executable, script, *options],
        env=ENVIRONMENT,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Five epochs gave 0.852 to 0.887 with five seeds; the paper prints 0.85.
    assert 0.82 < float(done.stdout.partition("in training, ")[2].split()[0]) < 0.92
    assert "samples, right" in done.stdout
    assert mislid.load_instance(tmp_path / "lastfm.npz").K == 103
