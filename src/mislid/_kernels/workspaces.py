"""Room for what the rules remember and work with, made in one place before the first measurement.

Kernels make no arrays. What one rule alone needs is made beside that rule.
"""

from __future__ import annotations

import numpy as np

from mislid._jit import Indices, Matrix, Vector
from mislid._kernels.newton import minimise
from mislid._kernels.pairs_left import PairsLeft
from mislid._kernels.problem import NewtonSpace, set_metric
from mislid._kernels.search import SearchSpace, project_means, search_pairs
from mislid._kernels.settled import Settled
from mislid._kernels.state import Setting, State

# Certificates that a search remembers: of all pairs where these take no more than ROOM numbers,
# otherwise enough for those that ever come close. A rule that visits more pairs than are remembered
# solves each of them anew in every round.
ROOM = 1 << 18
NEAR_SLOTS, NEAR_ROOM = 256, 1 << 23
# Of what was settled, besides two for each of the m best.
SPARE_ROWS = 32
# Numbers of a state that are 0 as long as it has no past.
_PAST = (
    *("waiting", "tests", "last_test", "judged", "searched", "answered", "rounds", "queued"),
    *("stalls", "statistic", "threshold", "challenger", "incumbent", "aim"),
)


def newton_space(X: Matrix, units: tuple[Indices, Indices] | None = None) -> NewtonSpace:
    """A workspace for the features X (K, d); `units` are spanner and rest where they are known."""
    K, d = X.shape
    if units is None:
        spanner = _unit_rows(X)
        rest = np.setdiff1d(np.arange(K), spanner)
    else:
        spanner, rest = units
    return NewtonSpace.zeros(
        {"K": K, "d": d},
        X=X,
        spanner=spanner,
        rest=rest,
        minimise=minimise.address,
        set_metric=set_metric.address,
        pair=np.zeros(2),
    )


def _unit_rows(X: Matrix) -> Indices:
    """Arms whose rows of X form the identity; none at all unless there is one for every column."""
    arms, columns = np.nonzero((X == 1.0) & (np.count_nonzero(X, axis=1) == 1)[:, None])
    found, first = np.unique(columns, return_index=True)
    return arms[first] if found.size == X.shape[1] else arms[:0]


def search_space(X: Matrix, m: int, units: tuple[Indices, Indices] | None = None) -> SearchSpace:
    """A workspace for the m(K - m) pairs of the features X (K, d)."""
    K, d = X.shape
    count = m * (K - m)
    near = min(count, NEAR_SLOTS, max(1, NEAR_ROOM // K))
    slots = count if count * K <= ROOM else near
    return SearchSpace.zeros(
        {"K": K, "d": d, "P": count, "slots": slots},
        newton=newton_space(X, units),
        project=project_means.address,
        search=search_pairs.address,
        kept_challenger=np.full(slots, -1, np.int64),
    )


def new_settled(K: int, m: int) -> Settled:
    """No pair is settled."""
    count = min(K, 2 * m + SPARE_ROWS)
    return Settled.zeros(
        {"K": K, "R": count},
        rows=np.full(K, -1, np.int64),
        owners=np.full(count, -1, np.int64),
        used=np.zeros(count, np.int64),
    )


def new_pairs_left(K: int, m: int, settled: Settled | None = None) -> PairsLeft:
    """All pairs are left, or those that `settled` leaves."""
    return PairsLeft.zeros({"K": K}, settled=new_settled(K, m) if settled is None else settled)


def forget_pairs(left: PairsLeft) -> None:
    """All pairs are left: the data are others."""
    settled = left.settled
    settled.rows[:], settled.owners[:], settled.used[:], settled.times[:] = -1, -1, 0, 0
    left.accepted[:], left.dropped[:] = 0, 0


def new_state(setting: Setting, plays: bool = True, left: PairsLeft | None = None) -> State:
    """Nothing measured yet; a rule that `plays` the game needs a space of its own for that.

    A stopping rule that settles pairs shares what is `left` of them.
    """
    K, m = setting.X.shape[0], setting.m
    test = search_space(setting.X, m)
    play = search_space(setting.X, m) if plays else test
    left = new_pairs_left(K, m) if left is None else left
    state = State.zeros({"K": K, "m": m}, test=test, play=play, left=left)
    begin_with(setting, state, np.zeros(K), np.zeros(K))
    state.incumbents[:] = np.arange(m)
    return state


def begin_with(
    setting: Setting, state: State, counts: Vector, sums: Vector, scatter: Vector | None = None
) -> None:
    """Let a state have these measurements, counts, sums and scatter (K,), and no past."""
    for name in _PAST:
        setattr(state, name, 0)
    for pair in ("doubt", "lagging", "linear"):
        setattr(state, f"{pair}_challenger", -1)
        setattr(state, f"{pair}_incumbent", -1)
    state.test.exempt[:] = 0
    state.samples = int(counts.sum())
    state.counts[:], state.sums[:], state.lost[:] = counts, sums, 0.0
    state.scatter[:] = 0.0 if scatter is None else scatter
    state.weights[:] = (counts + setting.phantom) / setting.variance
    state.means[:] = sums / np.maximum(counts, 1.0)
