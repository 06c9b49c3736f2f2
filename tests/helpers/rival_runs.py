"""Whole runs of the rival rules by their own stopping tests, compiled, for tests only."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from mislid._kernels.plan import (
    D_TRACKING,
    FIXED,
    LINGAPE,
    LINGIFA,
    LUCB,
    OWN_INDEX,
    OWN_THRESHOLD,
    Memory,
    Plan,
    new_memory,
    new_plan,
)
from mislid._kernels.select import list_top
from numpy.random import Generator
from numpy.typing import NDArray

from mislid._kernels.compile import inner, kernel
from mislid._kernels.lingape import lingape_arm
from mislid._kernels.lingifa import GapSpace, gap_answer, lingifa_arm, new_gap_space
from mislid._kernels.lucb import lucb_arm
from mislid._kernels.ridge import ridge_answer
from mislid._kernels.simple import fixed_arm, uniform_arm
from mislid._kernels.state import SAMPLES, Setting, State, measure, new_state, observe
from mislid.geometry.coordinates import coordinates
from mislid.model import Model
from oracles.rivals import Choice, Data, best

Floats = NDArray[np.float64]


class Run(NamedTuple):
    """All that a run reads and writes."""

    setting: Setting
    plan: Plan
    state: State
    memory: Memory
    space: GapSpace
    greedy: bool


def new_run(
    features: Floats,
    m: int,
    sampler: int,
    *,
    noise: float | Floats = 1.0,
    tolerance: float = 0.0,
    authors: bool = False,
    tracking: int = D_TRACKING,
    allocation: Floats | None = None,
    greedy: bool = True,
) -> Run:
    model = Model(features, 0.0)
    basis, X, _ = coordinates(model)
    K = len(features)
    setting = Setting(
        X=X,
        basis=basis.astype(np.int64),
        eps=0.0,
        variance=np.broadcast_to(np.square(noise), K).astype(np.float64),
        m=m,
        tol=float(tolerance),
        delta=0.05,
        largest_norm=float(np.max(np.linalg.norm(features, axis=1))),
        mean_bound=math.inf,
    )
    plan = new_plan(
        K,
        sampler=sampler,
        tracking=tracking,
        authors=authors,
        allocation=np.full(K, 1 / K) if allocation is None else allocation,
    )
    space = new_gap_space(setting, model.features[basis])
    return Run(setting, plan, new_state(setting), new_memory(K), space, greedy)


@inner
def heuristic_beta(t: int, delta: float) -> float:
    return math.log((1.0 + math.log(t + 1.0)) / delta)


@inner
def next_arm(run: Run, beta: float) -> int:
    setting, plan, state, memory, space, greedy = run
    if plan.sampler == LUCB:
        return lucb_arm(setting, plan, state, memory, beta)
    if plan.sampler == LINGAPE:
        return lingape_arm(setting, state, memory, space.ridge, beta)
    if plan.sampler == LINGIFA:
        return lingifa_arm(setting, state, memory, space, beta, greedy)
    if plan.sampler == FIXED:
        return fixed_arm(plan, state, memory)
    return uniform_arm(state)


@kernel
def choose(run: Run, beta: float) -> int:
    """The arm that the run's rule measures next."""
    return next_arm(run, beta)


@kernel
def answer(run: Run, beta: float) -> None:
    """Write the rule's answer to state.incumbents."""
    setting, plan, state, _, space, _ = run
    if plan.sampler == LINGAPE:
        ridge_answer(setting, state, space.ridge, state.incumbents)
    elif plan.sampler == LINGIFA:
        gap_answer(setting, state, space, beta, state.incumbents)
    else:
        list_top(state.means, state.heap, state.work, state.incumbents)


@kernel
def advance(run: Run, means: Floats, noise: Floats) -> bool:
    """Every arm once, then the rule until it stops or no noise is left; true if it stopped.

    As in the published runs the index is computed before a measurement and tested after it.
    """
    setting, _, state, memory, _, _ = run
    K = means.shape[0]
    for t in range(noise.shape[0]):
        arm = t if t < K else next_arm(run, heuristic_beta(t, setting.delta))
        deviation = math.sqrt(setting.variance[arm])
        observe(setting, state, arm, means[arm] + deviation * noise[t])
        if t >= K and memory.scalars[OWN_INDEX] <= memory.scalars[OWN_THRESHOLD]:
            return True
    return False


def simulate(run: Run, means: Floats, noise: Floats) -> tuple[int, list[int]]:
    """Measurements until the rule stopped by itself, and its answer then."""
    assert advance(run, means, noise)
    t = int(run.state.clock[SAMPLES])
    answer(run, math.log((1 + math.log(t + 1)) / run.setting.delta))
    return t, [int(arm) for arm in run.state.incumbents]


def measured(run: Run, features: Floats) -> Data:
    """What the run has measured, for the references."""
    setting, state = run.setting, run.state
    noise = np.sqrt(setting.variance)
    return Data(features, noise, state.counts.copy(), state.sums.copy(), setting.m)


class Step(NamedTuple):
    """A decision of a run and what it was based on."""

    choice: Choice
    data: Data
    beta: float


def steps(
    run: Run, features: Floats, means: Floats, rng: Generator, rounds: int, *, stray: float = 0.0
) -> Iterator[Step]:
    """Every arm once, then the rule's choices; with probability `stray` another arm is measured.

    Rewards are the means plus the run's noise. The choices' answers are taken at the same data.
    """
    noise = np.sqrt(run.setting.variance)
    for t in range(rounds):
        arm = t
        if t >= len(means):
            beta = math.log((1 + math.log(t + 1)) / run.setting.delta)
            arm = choose(run, beta)
            answer(run, beta)
            index = float(run.memory.scalars[OWN_INDEX])
            choice = Choice(arm, index, [int(k) for k in run.state.incumbents])
            yield Step(choice, measured(run, features), beta)
            if rng.random() < stray:
                arm = int(rng.integers(len(means)))
        measure(run.setting, run.state, arm, float(means[arm] + noise[arm] * rng.normal()))


def published(folder: Path, name: str) -> tuple[Floats, Floats]:
    """Features (K, d) and means (K,) of a published instance."""
    with np.load(folder / "instances" / f"{name}.npz", allow_pickle=False) as arrays:
        return np.ascontiguousarray(arrays["features"]), np.ascontiguousarray(arrays["means"])


def sample_sizes(
    features: Floats, means: Floats, m: int, sampler: int, *, runs: int, limit: int, **options: bool
) -> tuple[Floats, float]:
    """Measurements of seeded runs with noise 1 at delta 0.05, and the share of wrong answers."""
    right = best(means, m)
    sizes, wrong = np.empty(runs), 0
    for n in range(runs):
        run = new_run(features, m, sampler, **options)
        noise = np.random.default_rng([2021, n]).standard_normal(limit)
        sizes[n], found = simulate(run, means, noise)
        wrong += found != right
    return sizes, wrong / runs


def assert_mean(sizes: Floats, mean: float, error: float = 0.0) -> None:
    """The sizes' mean agrees with another of the given standard error, within four of the two's."""
    together = math.hypot(error, float(np.std(sizes, ddof=1)) / math.sqrt(len(sizes)))
    assert abs(np.mean(sizes) - mean) < 4 * together, (np.mean(sizes), mean, together)
