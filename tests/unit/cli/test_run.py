"""`mislid run`: what the table says of rules."""

import numpy as np
import pytest

from mislid.cli import main
from mislid.stopping.rules import STOPPING_RULES


@pytest.mark.parametrize("rule", STOPPING_RULES.values(), ids=list(STOPPING_RULES))
def test_the_table_says_which_rules_have_no_guarantee(rule, fake_job, tmp_path, capsys):
    file = tmp_path / "arms.npz"
    np.savez(file, features=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], means=[0.4, 0.5, 0.8])
    question = [str(file), "--m", "1", "--misspecification", "0.1", "--stopping", rule.name]
    assert main(["run", *question, "--runs", "2"]) == 0
    said = capsys.readouterr().out
    assert f"\nstopping          {rule.name}, error rate 0.05" in said
    assert ("no guarantee" in said) is not rule.guaranteed
