"""Which pairs are left, against the definition and against all orders of the arms."""

import numpy as np
import pytest

from mislid._jit import Indices
from mislid.engine.engine import new_settled
from mislid.stopping.elimination import draw_conclusions, is_left
from mislid.stopping.state import Settled, give_rows, settle
from oracles.elimination import PlainPairs, possible_answers


def settle_one(
    left: Settled, incumbents: Indices, i: int, j: int, samples: int, tol: float = 0.0
) -> None:
    give_rows(left, incumbents, samples)
    settle(left, i, j, samples)
    draw_conclusions(left, len(incumbents), tol)


def sides(arms: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.sort(arms[:m]), np.sort(arms[m:])


@pytest.mark.parametrize(("K", "m"), [(2, 1), (5, 1), (5, 2), (6, 5), (6, 3)])
def test_like_the_definition_and_true_in_every_possible_order(K: int, m: int) -> None:
    """Pairs are settled as a true order has them, while incumbents come and go."""
    concluded = 0
    for seed in range(12):
        rng = np.random.default_rng([K, m, seed])
        rank = rng.permutation(K)
        left, plain = new_settled(K, m), PlainPairs(K, m)
        for samples in range(1, 12 * K):
            inside, outside = sides(rng.permutation(K), m)
            i, j = int(rng.choice(outside)), int(rng.choice(inside))
            if rank[i] < rank[j]:
                continue
            settle_one(left, inside, i, j, samples)
            plain.settle({(i, j)})
            assert set(np.flatnonzero(left.accepted)) == plain.accepted
            assert set(np.flatnonzero(left.dropped)) == plain.dropped
            pairs = [(a, b) for a in range(K) for b in range(K) if a != b]
            assert [is_left(left, *pair) for pair in pairs] == [plain.is_left(*p) for p in pairs]
            answers = possible_answers(K, m, plain.settled)
            assert all(plain.accepted <= answer for answer in answers)
            assert not any(plain.dropped & answer for answer in answers)
            inside, outside = sides(np.argsort(rank), m)
            open_pairs = plain.left(inside.tolist())
            if not open_pairs:
                assert answers == [set(inside.tolist())]
                concluded += 1
    assert concluded > 0


def test_with_a_tolerance_better_does_not_carry_over() -> None:
    """Arm 1 is hardly worse than 0 or better, and 2 than 1: 2 may be worse by two tolerances."""
    left = new_settled(3, 1)
    settle_one(left, np.array([1]), 0, 1, 1, 0.1)
    settle_one(left, np.array([2]), 1, 2, 2, 0.1)
    assert not left.dropped.any()
    assert is_left(left, 0, 2)
    settle_one(left, np.array([2]), 0, 2, 3, 0.1)
    assert left.accepted.tolist() == [0, 0, 1]
