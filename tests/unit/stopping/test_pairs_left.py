"""Which pairs are left, against the definition and against all orders of the arms."""

import numpy as np
import pytest

from mislid._jit import Indices
from mislid.stopping import pairs_left
from mislid.stopping.state import PairsLeft, new_pairs_left
from oracles.elimination import PlainPairs, possible_answers

give_rows = pairs_left.give_rows
settle = pairs_left.settle
conclude = pairs_left.draw_conclusions
look = pairs_left.is_left
counted = pairs_left.count_left


def settle_one(
    left: PairsLeft, incumbents: Indices, i: int, j: int, samples: int, tol: float = 0.0
) -> None:
    give_rows(left.settled, incumbents, samples)
    settle(left.settled, i, j, samples)
    conclude(left, len(incumbents), tol)


def sides(arms: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.sort(arms[:m]), np.sort(arms[m:])


@pytest.mark.parametrize(("K", "m"), [(2, 1), (5, 1), (5, 2), (6, 5), (6, 3)])
def test_like_the_definition_and_true_in_every_possible_order(K: int, m: int) -> None:
    """Pairs are settled as a true order has them, while incumbents come and go."""
    concluded = 0
    for seed in range(12):
        rng = np.random.default_rng([K, m, seed])
        rank = rng.permutation(K)
        left, plain = new_pairs_left(K, m), PlainPairs(K, m)
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
            assert [look(left, *pair) for pair in pairs] == [plain.is_left(*p) for p in pairs]
            answers = possible_answers(K, m, plain.settled)
            assert all(plain.accepted <= answer for answer in answers)
            assert not any(plain.dropped & answer for answer in answers)
            inside, outside = sides(np.argsort(rank), m)
            open_pairs = plain.left(inside.tolist())
            assert counted(left, inside, outside) == len(open_pairs)
            if not open_pairs:
                assert answers == [set(inside.tolist())]
                concluded += 1
    assert concluded > 0


def test_with_a_tolerance_better_does_not_carry_over() -> None:
    """Arm 1 is hardly worse than 0 or better, and 2 than 1: 2 may be worse by two tolerances."""
    left = new_pairs_left(3, 1)
    settle_one(left, np.array([1]), 0, 1, 1, 0.1)
    settle_one(left, np.array([2]), 1, 2, 2, 0.1)
    assert not left.dropped.any()
    assert look(left, 0, 2)
    settle_one(left, np.array([2]), 0, 2, 3, 0.1)
    assert left.accepted.tolist() == [0, 0, 1]
