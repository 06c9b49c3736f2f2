"""One pair problem, cold, against general solvers at equal accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isfinite
from statistics import median
from typing import NamedTuple

from mislid import Model, pair_alternative

from .cases import Case, random_case
from .kernels import ColdPair
from .measuring import timed
from .peers import ACCURACY, PEERS, Peer
from .report import Spread, digits, duration, progress, table

CELLS = ((10, 5), (10, 8), (100, 5), (100, 8), (100, 50), (1000, 5), (1000, 8), (1000, 50))
QUICK_CELLS = ((10, 5), (30, 8))
SEEDS = 7
BATCH = 2e-3  # seconds of one solver's solves in a row, so that all find their data in the cache
LONGEST_BURST = 50
PATIENCE = 0.5  # seconds spent on one peer and problem


class Seconds(NamedTuple):
    """Of a solve after all setup, and of setup and solve together."""

    solve: float
    whole: float


@dataclass(frozen=True)
class Measured:
    """Times of the kernel, of the public function and of every peer on one problem."""

    case: Case
    seed: int
    ours: Seconds
    public: float
    steps: int
    peers: dict[str, Seconds]

    def fastest(self, part: str) -> str:
        """The peer with the shortest `solve` or `whole`."""
        return min(self.peers, key=lambda name: getattr(self.peers[name], part))

    def ratio(self, part: str) -> float:
        """The time of the fastest peer over ours."""
        best: float = getattr(self.peers[self.fastest(part)], part)
        return best / float(getattr(self.ours, part))


def measure(case: Case, seed: int, rounds: int) -> Measured:
    """Time everyone on one problem, taking turns, so that a busy moment hits all of them."""
    model = Model(case.features, case.misspecification)
    answer = pair_alternative(
        model, case.means, case.weights, case.challenger, case.incumbent, tolerance=case.tolerance
    )
    _certify(case, answer.cost, answer.bound)
    ours = ColdPair(case, model)
    _certify(case, ours.cost, ours.bound)
    peers = [peer for kind in PEERS if (peer := kind()).setup(case, answer.cost)]
    if not peers:
        raise RuntimeError(f"no peer agrees with our cost {answer.cost!r} on {case.name}")
    own, public = [], []
    others: dict[str, list[Seconds]] = {peer.name: [] for peer in peers}
    for turn in range(rounds):
        own.append(_own_seconds(ours))
        public.append(_public_seconds(model, case))
        for peer in peers:
            times = others[peer.name]
            if turn < 2 or sum(one.solve for one in times) < PATIENCE:
                times.append(_peer_seconds(peer))
    medians = {name: _median(times) for name, times in others.items()}
    return Measured(case, seed, _median(own), median(public), ours.steps, medians)


def _median(times: list[Seconds]) -> Seconds:
    return Seconds(median(one.solve for one in times), median(one.whole for one in times))


def _own_seconds(ours: ColdPair) -> Seconds:
    repeats = max(1, int(BATCH / ours.seconds(3, from_data=True)))
    return Seconds(ours.seconds(repeats, from_data=False), ours.seconds(repeats, from_data=True))


def _certify(case: Case, cost: float, bound: float) -> None:
    if not bound <= cost <= bound * (1 + 1e-9):
        raise RuntimeError(f"our solve of {case.name} is not certified: {bound!r}, {cost!r}")


def _public_seconds(model: Model, case: Case) -> float:
    pair = case.challenger, case.incumbent
    return timed(partial(pair_alternative, model, case.means, case.weights, *pair)).wall


def _peer_seconds(peer: Peer) -> Seconds:
    """The medians of a burst of solves; an inaccurate solve counts as never ending."""
    times: list[Seconds] = []
    while not times or (len(times) < LONGEST_BURST and sum(one.solve for one in times) < BATCH):
        peer.solve()
        solve = peer.seconds if peer.error <= ACCURACY else float("inf")
        times.append(Seconds(solve, min(solve + peer.setup_seconds, peer.whole_seconds)))
    return _median(times)


def run(quick: bool) -> str:
    """Tables of times and of ratios, by size of the problem."""
    cells, seeds, rounds = (QUICK_CELLS, 1, 3) if quick else (CELLS, SEEDS, 15)
    groups = []
    for arms, dimension in cells:
        group = []
        for seed in range(seeds):
            group.append(measure(random_case(arms, dimension, seed), seed, rounds))
            progress(f"pairs: {line(group[-1])}")
        groups.append(group)
    parts = {
        "solve": "Solve alone, all setup free of charge:",
        "whole": "From means and weights to the answer, setup included:",
    }
    return "\n\n".join(
        f"{title}\n\n{_times(groups, part)}\n\n{_ratios(groups, part)}"
        for part, title in parts.items()
    )


def line(one: Measured) -> str:
    """One problem in words."""
    sides = "; ".join(
        f"{part} {duration(getattr(one.ours, part))} against {one.fastest(part)} "
        f"{duration(getattr(one.peers[one.fastest(part)], part))}, ratio {digits(one.ratio(part))}"
        for part in Seconds._fields
    )
    return f"{one.case.name} seed {one.seed}, {one.steps} steps: {sides}"


def _times(groups: list[list[Measured]], part: str) -> str:
    names = [kind.name for kind in PEERS]
    rows = [
        [
            group[0].case.name,
            str(Spread.of(getattr(one.ours, part) for one in group)),
            *(_median_of(group, name, part) for name in names),
            duration(median(one.public for one in group)),
        ]
        for group in groups
    ]
    return table(["problem", "mislid", *names, "`pair_alternative`"], rows)


def _median_of(group: list[Measured], name: str, part: str) -> str:
    """A peer's median over the seeds, and on how many of them it was not accurate."""
    times = [float(getattr(one.peers[name], part)) for one in group if name in one.peers]
    accurate = [one for one in times if isfinite(one)]
    if not accurate:
        return "inaccurate"
    failed = len(group) - len(accurate)
    return duration(median(accurate)) + (f", {failed} inaccurate" if failed else "")


def _ratios(groups: list[list[Measured]], part: str) -> str:
    rows = []
    for group in groups:
        worst = min(group, key=lambda one: one.ratio(part))
        spread = Spread.of(one.ratio(part) for one in group)
        rows.append(
            [
                group[0].case.name,
                str(len(group)),
                f"{digits(spread.median)} ({digits(spread.low)} to {digits(spread.high)})",
                digits(worst.ratio(part)),
                f"{worst.fastest(part)}, seed {worst.seed}",
                f"{median(one.steps for one in group):g}",
                str(worst.steps),
            ]
        )
    header = [
        "problem", "seeds", "fastest peer / mislid", "worst seed", "against", "Newton steps",
        "at the worst seed",
    ]  # fmt: skip
    return table(header, rows)
