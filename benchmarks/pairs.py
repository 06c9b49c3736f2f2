"""One pair problem, cold, against general solvers at equal accuracy."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median

from mislid import Model, pair_alternative

from .cases import Case, random_case
from .kernels import ColdPair
from .peers import ACCURACY, PEERS, Peer
from .report import Spread, digits, duration, progress, table

CELLS = ((10, 5), (10, 8), (100, 5), (100, 8), (100, 50), (1000, 5), (1000, 8), (1000, 50))
QUICK_CELLS = ((10, 5), (30, 8))
SEEDS = 7
BATCH = 2e-3  # seconds of one solver's solves in a row, so that all find their data in the cache
LONGEST_BURST = 50
PATIENCE = 1.5  # seconds spent on one peer and problem


@dataclass(frozen=True)
class Measured:
    """Seconds of the kernel, of the public function and of every accurate peer on one problem."""

    case: Case
    seed: int
    ours: float
    public: float
    steps: int
    peers: dict[str, float]

    @property
    def ratio(self) -> float:
        """The time of the fastest peer over ours."""
        return min(self.peers.values()) / self.ours

    @property
    def fastest(self) -> str:
        """The fastest peer."""
        return min(self.peers, key=self.peers.__getitem__)


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
    batch = max(1, int(BATCH / ours.seconds(3)))
    times: dict[str, list[float]] = {"ours": [], "public": [], **{p.name: [] for p in peers}}
    for turn in range(rounds):
        times["ours"].append(ours.seconds(batch))
        times["public"].append(_public_seconds(model, case))
        for peer in peers:
            if turn < 2 or sum(times[peer.name]) < PATIENCE:
                times[peer.name].append(_peer_seconds(peer))
    medians = {name: median(values) for name, values in times.items()}
    return Measured(case, seed, medians.pop("ours"), medians.pop("public"), ours.steps, medians)


def _certify(case: Case, cost: float, bound: float) -> None:
    if not bound <= cost <= bound * (1 + 1e-9):
        raise RuntimeError(f"our solve of {case.name} is not certified: {bound!r}, {cost!r}")


def _public_seconds(model: Model, case: Case) -> float:
    begin = time.perf_counter()
    pair_alternative(model, case.means, case.weights, case.challenger, case.incumbent)
    return time.perf_counter() - begin


def _peer_seconds(peer: Peer) -> float:
    """The median of a burst of solves; an inaccurate solve counts as never ending."""
    times: list[float] = []
    while not times or (len(times) < LONGEST_BURST and sum(times) < BATCH):
        peer.solve()
        times.append(peer.seconds if peer.error <= ACCURACY else float("inf"))
    return median(times)


def run(quick: bool) -> str:
    """The table of medians, and what the worst problem of every size looked like."""
    cells, seeds, rounds = (QUICK_CELLS, 1, 3) if quick else (CELLS, SEEDS, 15)
    groups = []
    for arms, dimension in cells:
        group = []
        for seed in range(seeds):
            group.append(measure(random_case(arms, dimension, seed), seed, rounds))
            progress(f"pairs: {line(group[-1])}")
        groups.append(group)
    return "\n\n".join([_times(groups), _ratios(groups)])


def line(one: Measured) -> str:
    """One problem in words."""
    return (
        f"{one.case.name} seed {one.seed}: {duration(one.ours)} in {one.steps} steps, "
        f"{one.fastest} {duration(one.peers[one.fastest])}, ratio {digits(one.ratio)}"
    )


def _times(groups: list[list[Measured]]) -> str:
    names = [kind.name for kind in PEERS]
    rows = [
        [
            group[0].case.name,
            str(Spread.of(one.ours for one in group)),
            *(_median_of(group, name) for name in names),
            duration(median(one.public for one in group)),
        ]
        for group in groups
    ]
    return table(["problem", "mislid", *names, "`pair_alternative`"], rows)


def _median_of(group: list[Measured], name: str) -> str:
    """A peer's median over the seeds, and on how many of them it was not accurate."""
    accurate = [one.peers[name] for one in group if one.peers.get(name, float("inf")) < 1e9]
    if not accurate:
        return "inaccurate"
    failed = len(group) - len(accurate)
    return duration(median(accurate)) + (f", {failed} inaccurate" if failed else "")


def _ratios(groups: list[list[Measured]]) -> str:
    rows = []
    for group in groups:
        worst = min(group, key=lambda one: one.ratio)
        spread = Spread.of(one.ratio for one in group)
        rows.append(
            [
                group[0].case.name,
                str(len(group)),
                f"{digits(spread.median)} ({digits(spread.low)} to {digits(spread.high)})",
                digits(worst.ratio),
                f"{worst.fastest}, seed {worst.seed}",
                digits(median(one.steps for one in group)),
                str(worst.steps),
            ]
        )
    header = [
        "problem", "seeds", "fastest peer / mislid", "worst seed", "against", "Newton steps",
        "at the worst seed",
    ]  # fmt: skip
    return table(header, rows)
