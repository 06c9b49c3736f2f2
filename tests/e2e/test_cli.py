"""The command line in another process: what it prints where, and its exit status."""

import json
import subprocess
import sys

import numpy as np
import pytest

import mislid
from helpers.command_line import ENVIRONMENT, command, fake, without_notice
from mislid.simulation.replicate import replicate_rows

FEATURES, MEANS = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.4, 0.5, 0.8]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "arms.npz"
    np.savez(path, features=FEATURES, means=MEANS, names=["x", "y", "z"])
    return path


@pytest.fixture
def ask(file):
    return [file, "--m", "1", "--misspecification", "0.1"]


def refused(done, status, sentence):
    assert done.returncode == status, done.stderr
    assert not done.stdout
    assert "Traceback" not in done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("Error: ")
    assert sentence in done.stderr


@pytest.mark.parametrize("name", ["", "study", "demo"])
def test_help_loads_neither_compiler_nor_arrays(name):
    code = (
        "import sys\nfrom mislid.cli import main\n"
        "status = main(sys.argv[1:])\n"
        "heavy = {'numba', 'numpy', 'pandas', 'matplotlib', 'scipy', 'sklearn', 'sqlalchemy'}\n"
        "heavy &= set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else status)"
    )
    done = command(*filter(None, [name]), "--help", start=["-c", code])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: mislid {name}".strip())


def test_an_infinite_bound_is_strict_json(tmp_path):
    path = tmp_path / "tie.csv"
    path.write_text("mean,a,b\n0.5,1,0\n0.5,0,1\n0,1,1\n")
    ask = [path, "--m", "1", "--misspecification", "1"]
    done = command("bound", *ask, "--format", "json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout, parse_constant=pytest.fail)
    assert said["characteristic_time"] == "inf"
    assert said["note"] == "the mean at place m=1 and the next one are equal"
    assert "samples              inf" in command("bound", *ask).stdout


def test_options_reach_the_runs(ask):
    """All at once give the rows that Python gives, and each of them matters."""
    options = {"noise": 0.5, "tolerance": 0.1, "max_samples": 60}

    def samples(noise=1.0, **rest):
        instance = mislid.Instance(mislid.Model(FEATURES, 0.1), MEANS, noise=noise)
        return [row.samples for row in replicate_rows(instance, 1, runs=8, **rest)]

    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    words = [word.replace("_", "-") for word in words]
    done = command("run", *ask, "--runs", 8, "--format", "json", *words)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)["samples"]
    assert said == samples(**options)
    for name in options:
        assert said != samples(**{key: value for key, value in options.items() if key != name})


def test_an_output_directory_is_filled_and_taken_up(ask, tmp_path):
    output = tmp_path / "out" / "deep"
    done = fake("run", *ask, "--runs", 6, "--output", output, "--format", "json")
    assert done.returncode == 0, done.stderr
    names = sorted(place.name for place in output.iterdir())
    assert names == ["runs.csv", "settings.json"]
    assert json.loads((output / "settings.json").read_text()) == json.loads(done.stdout)["settings"]
    kept = (output / "runs.csv").read_text()
    more = fake("run", *ask, "--runs", 8, "--output", output, "--format", "json")
    assert more.returncode == 0, more.stderr
    assert (output / "runs.csv").read_text().startswith(kept)
    refused(
        fake("run", *ask, "--runs", 8, "--output", output, "--seed", 1),
        1,
        "where seed was 0 and now is 1",
    )
    done = fake("run", *ask, "--runs", 8, "--output", output, "--tolerance", 1.5)
    refused(done, 1, '"tolerance": 1.5')


def test_a_reader_that_leaves_early_is_no_error(ask):
    with subprocess.Popen(
        [sys.executable, "-m", "mislid", "bound", *map(str, ask)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        assert without_notice(process.stderr.read()) == ""


def test_the_demo(tmp_path):
    done = command("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mislid-demo.png"]
    assert (tmp_path / "mislid-demo.png").read_bytes()[:4] == b"\x89PNG"
    assert done.stdout.endswith("\nPicture: mislid-demo.png\n")
    assert "MX-07, MX-04, MX-12 (right)" in done.stdout
    assert "the answer of mislid is wrong with probability at most 0.05." in done.stdout
    assert "(wrong, without MX-07, the best)\n" in done.stdout
    lost = tmp_path / "none" / "demo.png"
    refused(command("demo", "--output", lost), 1, "whose directory does not exist")
