"""The check of an installation passes here, and fails on twins that are broken on purpose."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

import mislid
from mislid import selftest

SOURCE = Path(mislid.__file__).parents[1]


def run(code, *flags):
    return subprocess.run(
        [sys.executable, *flags, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {code}"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_installation_that_works_is_ok():
    done = run("from mislid import selftest; sys.exit(selftest.main())")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"mislid {mislid.__version__}, Python 3.")
    assert "numba" in lines[0]
    assert lines[-1] == "ok"
    steps = ["public names", "geometry", "planning", "identification", "study in memory"]
    assert [line[:16].strip() for line in lines[1:-2]] == steps
    assert "answer a, b after" in lines[-2]


def test_it_does_with_the_core_requirements():
    others = ("sqlalchemy", "pandas", "matplotlib", "optuna", "click", "sklearn", "pytest")
    refuse = f"""
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {others}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
from importlib import util
util.find_spec = lambda name, found=util.find_spec: None if name in {others} else found(name)
from mislid import selftest
sys.exit(selftest.main())
"""
    done = run(refuse, "-O")  # also where Python leaves out asserts
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not tried, without SQLAlchemy (pip install 'mislid[study]')" in done.stdout


def outcome(capsys):
    status = selftest.main()
    return status, capsys.readouterr().out


def shifted(found):
    return dataclasses.replace(found, cost=found.cost * 1.01)


def other_seed(*arguments, seed, identify=mislid.identify, **options):
    return identify(*arguments, seed=seed + 1, **options)


def credulous(certificate, verify=mislid.verify):
    return dataclasses.replace(verify(certificate), ok=True)


TWINS = {
    "geometry": ("closest_alternative", lambda *a, f=mislid.closest_alternative: shifted(f(*a))),
    "identification": ("identify", other_seed),
    "study in memory": ("verify", credulous),
    "planning": ("characteristic_time", lambda *a, **b: 1 / 0),
    "public names": ("project", None),
}


@pytest.mark.parametrize("step", TWINS)
def test_a_broken_twin_is_caught(step, monkeypatch, capsys):
    name, twin = TWINS[step]
    monkeypatch.setattr(mislid, name, twin)
    status, said = outcome(capsys)
    assert status == 1
    assert f"{step:<16} FAILED:" in said
    assert said.rstrip().endswith("not ok: the installation is damaged, or this is a bug")
