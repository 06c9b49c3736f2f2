"""The client in JavaScript of examples/client.mjs, with a real server."""

import json
import shutil
import subprocess
from pathlib import Path

import playwright
import pytest

from helpers.serving import serving
from mislid.study import load_study
from mislid.study.storage import as_storage

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "client.mjs"
# Playwright brings one along, for machines that have none.
NODE = shutil.which("node") or str(Path(playwright.__file__).parent / "driver" / "node")


@pytest.mark.slow
def test_the_client_runs_a_study_to_its_end(tmp_path: Path) -> None:
    lab = tmp_path / "lab.db"  # which the server makes
    with serving(lab, "--write") as server:
        command = [NODE, PROGRAM, server.url, str(server.token)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    storage = as_storage(lab)
    study = load_study(study_name="from JavaScript", storage=storage)
    assert (found["status"], found["answer"], study.status) == ("decided", ["C"], "decided")
    assert found["samples"] == study.samples
    assert study.result is not None
    assert study.result.answer == ("C",)
    assert found["events"] == list(range(1, len(study.events()) + 1))
    storage.close()
