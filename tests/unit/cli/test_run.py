"""`mislid run`: what the table says of rules and noise."""

import numpy as np
import pytest

from mislid.cli import main
from mislid.stopping.rules import STOPPING_RULES


@pytest.fixture
def run(fake_job, tmp_path, monkeypatch, capsys):
    """Call `mislid` in a directory, with runs that are quick and known; what it printed."""
    monkeypatch.chdir(tmp_path)
    features, means = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.4, 0.5, 0.8]
    np.savez("arms.npz", features=features, means=means)

    def call(line, status=0):
        command, *rest = line.split()
        ask = (
            ["arms.npz", "--m", "1", "--misspecification", "0.1", "--quiet"]
            if command == "run"
            else []
        )
        assert main([command, *ask, *rest]) == status
        said = capsys.readouterr()
        return said.err if status else said.out

    return call


@pytest.mark.parametrize("rule", STOPPING_RULES.values(), ids=list(STOPPING_RULES))
def test_the_table_says_which_rules_have_no_guarantee(run, rule):
    said = run(f"run --runs 2 --stopping {rule.name}")
    assert f"\nstopping          {rule.name}, error rate 0.05" in said
    assert ("no guarantee" in said) is not rule.guaranteed
