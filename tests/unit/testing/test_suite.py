"""Suites run without a test runner."""

import numpy as np

from helpers.scripts import run_script
from mislid.testing.suite import evidence_above_one


def test_bets_on_numbers_of_mean_one_win_as_rarely_as_they_must() -> None:
    generator = np.random.default_rng(3)
    fair = [evidence_above_one(generator.standard_normal(300) - 0.5) for _ in range(1000)]
    assert np.mean(np.array(fair) > np.log(20.0)) <= 0.05
    better = [evidence_above_one(generator.standard_normal(300)) for _ in range(100)]
    assert min(better) > np.log(20.0)
    assert evidence_above_one(np.array([-np.inf, 800.0])) > 700.0


def test_the_suites_need_neither_pytest_nor_what_is_heavy() -> None:
    heavy = ("pytest", "numba", "pandas", "sqlalchemy", "matplotlib")
    code = f"import sys, mislid.testing; print([one for one in {heavy} if one in sys.modules])"
    assert run_script(code) == ("[]\n", "")
