"""Structs of an engine: the question for kernels, compiled rules, and the first design."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray

import mislid.engine.compiled  # noqa: F401  (registers the stopping rules)
from mislid._validation import Vector
from mislid.algorithms.fixed import NoOptions
from mislid.algorithms.registry import CompiledSampling
from mislid.engine.loop import Rules
from mislid.geometry.coordinates import coordinates
from mislid.geometry.spanner import spanner
from mislid.model import Model
from mislid.question import Question
from mislid.stopping.noise import NOISE_MODELS
from mislid.stopping.registry import CompiledStopping
from mislid.stopping.state import Setting, new_state

# In the published runs every arm counts as measured so often at the start, and the tube is wider by
# so much at noise 1.
PHANTOM, WIDENING = 1e-10, 1e-5
# Values of every arm to begin with, where the variance is unknown.
FIRST_VALUES = 5
# Values of all arms together, beyond the first of each, where they share an unknown variance.
FIRST_FREEDOM = 10


def new_setting(
    question: Question, algorithm: Any, proven: bool = False, price: Vector | None = None
) -> Setting:
    """The question as kernels read it; a price (K,) is infinite where nothing can be measured.

    Phantom measurements of the published runs have no place where something is to be proven.
    """
    model, at = question.model, coordinates(question.model)
    authors = bool(getattr(algorithm, "authors", False))
    low, high = question.reward_range or (0.0, 1.0)
    return Setting(
        X=np.array(at.matrix, order="C"),
        basis=np.array(at.basis, dtype=np.int64),
        eps=model.misspecification,
        variance=question.noise**2,
        noise_model=NOISE_MODELS.index(question.noise_model),
        low=low,
        width=high - low,
        m=question.m,
        tol=question.tolerance,
        delta=question.delta,
        largest_norm=float(np.max(np.linalg.norm(model.features, axis=1))),
        mean_bound=question.mean_bound,
        phantom=PHANTOM if authors and not proven else 0.0,
        widening=WIDENING * float(np.max(question.noise)) if authors else 0.0,
        responds=bool(getattr(algorithm, "responds", False)),
        structured=question.structured,
        price=np.ones(model.K) if price is None else price,
        priced=price is not None and bool(np.any(price != price[0])),
    )


def patience(first: int, d: int, gamma: float) -> int:
    """Samples before the first test of published runs, of which `first` are the design."""
    return max(5 * d, 10) if gamma > 1.0 else first


def first_design(
    question: Question, basis: NDArray[np.int64], every_arm: bool, price: Vector | None
) -> NDArray[np.int64]:
    """The arms (n,) to measure first: all or a basis, several times where variances are unknown."""
    can = np.arange(question.K, dtype=np.int64)
    if price is not None:
        can = can[np.isfinite(price)]
        if not np.isin(basis, can).all():  # some of the basis cannot be measured
            able = Model(question.model.features[can], math.inf)
            others = can[spanner(able)] if can.size > 1 else can
            basis = np.unique(np.concatenate([basis[np.isin(basis, can)], others]))
    design = can if every_arm else basis
    if question.noise_model == "unknown":
        # Variances are to be estimated, and pairs proved by their own two arms.
        return np.tile(can, FIRST_VALUES)
    if question.noise_model == "unknown-equal":
        return np.tile(design, 1 + math.ceil(FIRST_FREEDOM / len(design)))
    return design


def new_rules(
    setting: Setting,
    sampling: CompiledSampling | None,
    stopping: CompiledStopping,
    gamma: float,
    patience: int,
    seed: SeedSequence,
) -> Rules:
    """The rules before the first measurement; no test at `patience` samples or fewer."""
    own = None if sampling is None else sampling.own_test
    decisions = SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
    return Rules(
        setting=setting,
        state=new_state(setting, sampling is not None and sampling.plays, stopping.left),
        sampler=NoOptions() if sampling is None else sampling.struct,
        propose=0 if sampling is None else sampling.propose.address,
        own_test=0 if own is None else own.address,
        estimates=sampling is None or sampling.estimates,
        phased=sampling is not None and sampling.left is not None,
        stopping=stopping.struct,
        judge=stopping.judge.address,
        gamma=gamma,
        patience=patience,
        key=np.uint64(decisions.generate_state(1, np.uint64)[0]),
    )
