"""The selftest passes here, and fails on twins that are broken on purpose."""

import dataclasses
import subprocess
import sys

import pytest

import mislid
from mislid import selftest

OTHERS = ("sqlalchemy", "pandas", "matplotlib", "optuna", "click", "sklearn", "pytest")
REFUSE = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {OTHERS}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
from mislid import selftest
sys.exit(selftest.main())
"""


def test_it_does_with_the_core_requirements():
    done = subprocess.run(
        [sys.executable, "-O", "-c", REFUSE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "ok"
    assert "Warning" not in done.stderr


def credulous(certificate, verify=mislid.verify):
    return dataclasses.replace(verify(certificate), ok=True)


@pytest.mark.parametrize(
    ("check", "name", "twin"),
    [
        ("public_names", "project", None),
        ("identification", "characteristic_time", lambda *_, **__: 1 / 0),
        ("study", "verify", credulous),
    ],
)
def test_a_broken_twin_is_caught(check, name, twin, monkeypatch, capsys):
    monkeypatch.setattr(mislid, name, twin)
    assert selftest.main() == 1
    said = capsys.readouterr().out
    assert f"{check:<16} FAILED" in said
    assert said.rstrip().endswith("not ok: the installation is damaged")
