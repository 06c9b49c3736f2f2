"""The closest alternative, cold, against solving every pair with the fastest peer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter

import numpy as np

from mislid import Model, closest_alternative, pair_alternative

from .cases import Case, linear_up_to, published_case
from .kernels import ColdSearch
from .measuring import timed
from .peers import ACCURACY, PEERS, Peer
from .report import Spread, digits, duration, progress, table

AMOUNTS = (0.001, 0.02)


@dataclass(frozen=True)
class Brute:
    """The cheapest of some pairs by a peer, and what all pairs take it.

    `solve` and `whole` are seconds without and with the solver's setup, for all pairs: scaled up
    from `tried` where not all were tried. `failed` counts pairs that were not solved accurately.
    """

    peer: str
    cost: float
    solve: float
    whole: float
    tried: int
    failed: int


def pairs_of(case: Case) -> list[Case]:
    """The case once for every pair."""
    top = set(case.incumbents)
    rest = [arm for arm in range(len(case.means)) if arm not in top]
    return [replace(case, challenger=i, incumbent=j) for i, j in product(rest, case.incumbents)]


def brute_force(cases: list[Case], most: int) -> list[Brute]:
    """Solve all pairs, or `most` of them evenly spread, with every peer."""
    model = Model(cases[0].features, cases[0].misspecification)
    spread = [cases[at] for at in _evenly(len(cases), most)]
    costs = [_pair_cost(model, case) for case in spread]
    share = len(spread) / len(cases)
    found = [_tried(kind, spread, costs) for kind in PEERS]
    return [replace(one, solve=one.solve / share, whole=one.whole / share) for one in found]


def _evenly(length: int, most: int) -> list[int]:
    return np.unique(np.linspace(0, length - 1, min(length, most)).astype(int)).tolist()


def _tried(kind: type[Peer], cases: list[Case], costs: list[float]) -> Brute:
    solve = whole = 0.0
    cost, failed = float("inf"), 0
    for case, exact in zip(cases, costs, strict=True):
        peer = kind()
        accurate = peer.setup(case, exact)
        found = peer.solve()
        if accurate and peer.error <= ACCURACY:
            cost = min(cost, found)
        else:
            failed += 1
        solve += peer.seconds
        whole += min(peer.seconds + peer.setup_seconds, peer.whole_seconds)
    # A peer that fails on half of the pairs is no way to search through them.
    if 2 * failed >= len(cases):
        solve = whole = float("inf")
    return Brute(kind.name, cost, solve, whole, len(cases), failed)


def _pair_cost(model: Model, case: Case) -> float:
    answer = pair_alternative(model, case.means, case.weights, case.challenger, case.incumbent)
    return float(answer.cost)


def _seconds(call: Callable[[], object], repeats: int) -> Spread:
    return Spread.of(timed(call).wall for _ in range(repeats))


def measure(case: Case, repeats: int, most: int) -> list[str]:
    """A row: our cold call compiled and public, brute force, and the ratios."""
    model = Model(case.features, case.misspecification)
    answer = closest_alternative(model, case.means, case.weights, case.m)
    search = ColdSearch(case, model)
    ours = Spread.of(search.seconds(10) for _ in range(repeats))
    public = _seconds(lambda: closest_alternative(model, case.means, case.weights, case.m), repeats)
    fresh = _seconds(lambda: _from_features(case), max(3, repeats // 5))
    if (search.solves, abs(search.cost / answer.cost - 1) < 1e-9) != (answer.pairs_solved, True):
        raise RuntimeError(f"{case.name}: compiled {search.cost!r}, public {answer.cost!r}")
    everything = pairs_of(case)
    row = [case.name, f"{answer.pairs_solved} of {len(everything)}", str(ours), str(public)]
    row.append(duration(fresh.median))
    tried = brute_force(everything, most)
    for part in ("solve", "whole"):
        brute = min(tried, key=attrgetter(part))
        _compare(case, answer.cost, brute, len(everything))
        seconds = getattr(brute, part)
        row += [
            f"{brute.peer} {duration(seconds)}{_remarks(brute, len(everything))}",
            digits(seconds / ours.median),
            digits(seconds / public.median),
        ]
    return row


def _compare(case: Case, cost: float, brute: Brute, pairs: int) -> None:
    """A search and brute force that both went through all pairs must agree."""
    complete = brute.tried == pairs and not brute.failed
    if brute.cost < cost * (1 - ACCURACY) or (complete and brute.cost > cost * (1 + ACCURACY)):
        raise RuntimeError(f"{case.name}: ours {cost!r}, {brute.peer} {brute.cost!r}")


def _remarks(brute: Brute, pairs: int) -> str:
    scaled = f", scaled up from {brute.tried} pairs" if brute.tried < pairs else ""
    return scaled + (f", {brute.failed} inaccurate" if brute.failed else "")


def _from_features(case: Case) -> object:
    """A first call: with the spanner, which a model computes once."""
    model = Model(case.features, case.misspecification)
    return closest_alternative(model, case.means, case.weights, case.m)


def run(quick: bool) -> str:
    """The table on instance E and on E made almost linear."""
    case = published_case("E")
    rows = []
    for one in (case, *(linear_up_to(case, amount) for amount in AMOUNTS)):
        rows.append(measure(one, *((5, 12) if quick else (50, 10**6))))
        progress(f"closest: {' | '.join(rows[-1])}")
    header = [
        "problem", "pairs solved", "mislid", "`closest_alternative`", "with a new `Model`",
        "brute force, solves only", "/ mislid", "/ `closest_alternative`",
        "brute force with setup", "/ mislid", "/ `closest_alternative`",
    ]  # fmt: skip
    return table(header, rows)
