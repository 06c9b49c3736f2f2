import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from mislid.geometry import matrix_game
from mislid.geometry.matrix_game import Parts, solve_matrix_game


def value_by_linear_program(table):
    n, columns = table.shape
    answer = linprog(
        np.append(np.zeros(columns), -1.0),
        A_ub=np.hstack([-table, np.ones((n, 1))]),
        b_ub=np.zeros(n),
        A_eq=np.append(np.ones(columns), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0.0, None)] * columns + [(None, None)],
    )
    return -answer.fun


def everything(table):
    return Parts(*(np.ones(size, dtype=bool) for size in table.shape))


def only_the_first(table):
    return Parts(*(np.arange(size) == 0 for size in table.shape))


def random_table(rng):
    table = rng.uniform(size=rng.integers(1, 60, size=2)) ** rng.choice([1, 4, 12])
    share = rng.choice([1.0, 0.5, 0.04])
    return np.where(rng.uniform(size=table.shape) < share, table, 0.0)


@pytest.mark.parametrize("guess", [everything, only_the_first])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-8])
def test_both_sides_meet_at_the_value(rng, guess, tolerance):
    for _ in range(60):
        table = random_table(rng)
        w, q = solve_matrix_game(table, tolerance, guess(table))
        for mixture in (w, q):
            assert np.all(mixture >= 0.0)
            assert_allclose(np.sum(mixture), 1.0, rtol=1e-12)
        low, high = np.min(table @ w), np.max(q @ table)
        value = value_by_linear_program(table)
        assert low <= value + 1e-9
        assert high >= value - 1e-9
        assert high - low <= tolerance * (1.0 + 1e-9)


def test_few_rows_and_columns_are_looked_at(rng, monkeypatch):
    sizes = []
    solve_part = matrix_game._solve_part

    def watched(table, tolerance):
        sizes.append(table.shape)
        return solve_part(table, tolerance)

    monkeypatch.setattr(matrix_game, "_solve_part", watched)
    table = 1.0 + rng.uniform(size=(400, 900))
    table[:, 5:] *= 0.1
    table[7:] += 3.0
    w, q = solve_matrix_game(table, 1e-6, only_the_first(table))
    assert np.max(q @ table) - np.min(table @ w) <= 1e-6
    assert max(rows for rows, _ in sizes) < 100
    assert max(columns for _, columns in sizes) < 100


def test_a_game_that_rounding_does_not_let_close_still_gives_mixtures():
    table = np.array([[1e-300, 1e300], [1e300, 1e-300]])
    w, q = solve_matrix_game(table, 1e-9, everything(table))
    assert_allclose([w.sum(), q.sum()], 1.0)
