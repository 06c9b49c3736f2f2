"""Bad files on the command line: one sentence that names the file, and nothing is written."""

import io

import numpy as np
import pytest

from mislid.cli import main

FEATURES = np.random.default_rng(1).normal(size=(15, 8))
MEANS = np.arange(15.0)


@pytest.fixture
def refused(capsys, tmp_path):
    """Runs the command and checks how it refuses a file."""

    def check(*arguments, names, sentence):
        before = sorted(tmp_path.rglob("*"))
        assert main([*map(str, arguments), "--quiet"]) == 1
        said = capsys.readouterr()
        assert not said.out
        (line,) = said.err.splitlines()
        assert line.startswith("Error: ")
        assert line.endswith(".")
        assert sentence in line
        assert str(names) in line
        assert sorted(tmp_path.rglob("*")) == before

    return check


def saved(**arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


WHOLE = saved(features=FEATURES, means=MEANS)
ARCHIVES = {
    "truncated": (WHOLE[: len(WHOLE) // 2], "is not a complete .npz file; it may be truncated"),
    "wrong arrays": (saved(features=FEATURES), "it lacks means and holds features"),
    "no rows": (saved(features=np.empty((0, 8)), means=np.empty(0)), "at least 2 rows"),
    "NaN rewards": (saved(features=FEATURES, means=MEANS * np.nan), "must be finite; got nan"),
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_instances(kind, tmp_path, refused):
    content, sentence = ARCHIVES[kind]
    path = tmp_path / "arms.npz"
    path.write_bytes(content)
    refused("run", path, "--m", 1, "--misspecification", 1, names=path, sentence=sentence)
