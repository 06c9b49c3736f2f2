"""What was asked and measured: candidates, settings and data of a certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid.verification.geometry import Model, model_of
from mislid.verification.reading import (
    Failure,
    Label,
    Matrix,
    Value,
    Vector,
    refuse_difference,
    sha256_of,
)
from mislid.verification.thresholds import PROVEN

SIGNS = {"maximize": 1.0, "minimize": -1.0}


@dataclass(frozen=True, eq=False)
class Candidates:
    """K labels, from each to its index, and features (K, n) or None."""

    labels: list[Label]
    index: dict[Label, int]
    features: Matrix | None

    @property
    def K(self) -> int:
        """How many there are."""
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Settings:
    """The question, with noise (K,) and sign = -1 where less is better."""

    m: int
    delta: float
    eps: float
    noise: Vector
    tol: float
    sign: float
    stopping: str


@dataclass(frozen=True, eq=False)
class Data:
    """Counts (K,) and empirical means (K,) in a sign where more is better; 0 if never measured."""

    samples: int
    counts: Vector
    means: Vector
    weights: Vector  # (K,) counts over squared noise


def read_candidates(given: Value) -> Candidates:
    """The labels and features are those whose hash is stated."""
    parts = given.parts("labels", "features", "sha256")
    labels = parts["labels"].labels()
    features = None if parts["features"].absent else parts["features"].matrix(len(labels))
    plain = {name: parts[name].given for name in ("labels", "features")}
    if parts["sha256"].text() != sha256_of(plain):
        raise Failure("candidates.sha256 must be the hash of labels and features; it is not")
    return Candidates(labels, {label: k for k, label in enumerate(labels)}, features)


def read_settings(given: Value, candidates: Candidates) -> Settings:
    """The question is one that can be asked of these candidates."""
    parts = given.parts(
        "m", "delta", "misspecification", "noise", "tolerance", "direction", "algorithm",
        "stopping", "seed", "mean_bound",
    )  # fmt: skip
    # These say how it was found out what to measure, on which no proof depends.
    parts["algorithm"].text()
    parts["seed"].whole(0)
    parts["mean_bound"].number(0.0, above=True, infinite=True)
    delta = parts["delta"].number(0.0, above=True)
    if not delta < 1.0:
        raise parts["delta"].fail("below 1")
    eps = parts["misspecification"].number(0.0, infinite=True)
    if candidates.features is None and eps < math.inf:
        raise parts["misspecification"].fail('"inf", for candidates without features')
    noise = [entry.number(0.0, above=True) for entry in parts["noise"].entries()]
    if len(noise) not in (1, candidates.K):
        raise parts["noise"].fail(f"one number, or {candidates.K}")
    return Settings(
        m=parts["m"].whole(1, candidates.K - 1),
        delta=delta,
        eps=eps,
        noise=np.broadcast_to(np.array(noise), (candidates.K,)),
        tol=parts["tolerance"].number(0.0),
        sign=SIGNS[parts["direction"].text(*SIGNS)],
        stopping=parts["stopping"].text(*PROVEN),
    )


def read_data(given: Value, candidates: Candidates, settings: Settings) -> Data:
    """Counts add up, and the means are the sums over them."""
    parts = given.parts("samples", "counts", "sums", "means")
    K = candidates.K
    counts = [entry.whole(0) for entry in parts["counts"].entries(K)]
    samples = parts["samples"].whole(1)
    if sum(counts) != samples:
        raise Failure(f"data.samples must be the sum of data.counts, {sum(counts)}; got {samples}")
    means = np.zeros(K)
    sums, stated = parts["sums"].entries(K), parts["means"].entries(K)
    for k, count in enumerate(counts):
        if count:
            means[k] = sums[k].number() / count
            refuse_difference(stated[k], stated[k].number(), float(means[k]), 1e-15)
        elif not stated[k].absent or sums[k].number() != 0.0:
            raise Failure(f"data.sums[{k}] must be 0 and data.means[{k}] null: never measured")
    weights = np.array(counts, dtype=np.float64) / settings.noise**2
    if not np.all(np.isfinite(weights)):
        raise Failure("settings.noise must be so large that counts can be divided by its square")
    return Data(samples, np.array(counts, dtype=np.float64), settings.sign * means, weights)


def read_model(given: Value, candidates: Candidates, eps: float) -> Model:
    """The coordinates in which bounds and priors are stated; without features, a common level."""
    features = candidates.features
    if features is None:
        if not given.absent:
            raise given.fail("null for candidates without features")
        return Model(np.ones((candidates.K, 1)), eps)
    parts = given.parts("columns", "spanner")
    columns = parts["columns"].arms(features.shape[1])
    return model_of(features, columns, parts["spanner"].arms(candidates.K), eps)
