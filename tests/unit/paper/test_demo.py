"""The demonstration and its picture, by what they find, say and show."""

from dataclasses import replace

import numpy as np
import pytest

from mislid.cli import main
from mislid.paper.demo import BUDGET, METHODS, M, draw_demo, run_demo

BEST = {6, 3, 11}


@pytest.fixture(scope="module")
def demo():
    return run_demo()


def test_the_features_help_and_mislead() -> None:
    """Of the instance itself, whatever the seed: trust in the features errs, caution gains."""
    demos = [run_demo(seed) for seed in range(1, 6)]
    for demo in demos:
        assert set(demo.found["mislid"].answer) == BEST == set(demo.instance.top(M))
        assert not demo.found["LinGapE"].correct
        assert 6 not in demo.found["LinGapE"].answer
    samples = {name: np.mean([demo.found[name].samples for demo in demos]) for name in METHODS}
    assert samples["mislid"] < 0.8 * min(samples["uniform"], samples["LUCB"])
    assert max(samples.values()) < BUDGET


def test_what_is_said_follows_what_was_found(demo, tmp_path, monkeypatch, capsys) -> None:
    """A rival that ran out of budget, LinGapE right for once, and no answer at all."""
    nothing = {"answer": None, "correct": None, "certificate": None, "status": "budget exhausted"}
    right = replace(demo.found["LinGapE"], answer=(6, 3, 11), correct=True)
    found = {
        "mislid": replace(demo.found["mislid"], **nothing),
        "LUCB": replace(demo.found["LUCB"], **nothing),
        "uniform": demo.found["uniform"],
        "LinGapE": right,
    }
    other = replace(demo, found=found)
    monkeypatch.setattr("mislid.paper.demo.run_demo", lambda seed: other)
    assert main(["demo", "--output", str(tmp_path / "demo.png")]) == 0
    said = capsys.readouterr().out
    assert said.count("guaranteed  none, budget exhausted") == 2
    assert "proved" not in said
    assert "own test    MX-07, MX-04, MX-12 (right)\n" in said
    assert "wrong" not in said
    assert not any("wrong" in str(line.get_label()) for line in draw_demo(other).axes[1].lines)
