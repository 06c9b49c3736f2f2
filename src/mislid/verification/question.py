"""Candidates, settings, data and model of a certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mislid.verification.geometry import Model, level_only, model_of
from mislid.verification.intervals import Interval, exactly, of_fraction
from mislid.verification.noise import KNOWN, NoiseModel, read_noise_model
from mislid.verification.reading import (
    Failure,
    Label,
    Matrix,
    Value,
    Vector,
    sha256_of,
)
from mislid.verification.variances import Cells, cells_of, estimated_precision

SIGNS = {"maximize": 1.0, "minimize": -1.0}
# What there is at every time.
MOMENT = ("samples", "counts", "sums", "scatter")
# Beyond so many, numbers of measurements are no longer exact.
MOST_SAMPLES = 1 << 53


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
    structured: bool  # whether features have a weight in M
    noise_model: NoiseModel


@dataclass(frozen=True, eq=False)
class Data:
    """Counts, sums and means (K,) in a sign where more is better; 0 where never measured."""

    samples: int
    counts: Vector
    sums: Vector
    means: Vector  # nearly
    weights: Interval  # (K,) counts over squared noise
    scatter: Vector  # (K,) as `NoiseModel.read_scatter` says; 0 where there is none

    @cached_property
    def exact(self) -> list[Fraction]:
        """The means as the rational numbers that they are."""
        given = zip(self.sums.tolist(), self.counts.tolist(), strict=True)
        return [Fraction(total) / max(int(count), 1) for total, count in given]

    @cached_property
    def lost(self) -> list[Fraction]:
        """What rounding may have taken from the means, as sums are rounded once."""
        return [abs(mean) / 2**53 for mean in self.exact]

    @cached_property
    def precision(self) -> float:
        """About 1/sigma^2 of a noise that all arms share; 1 where nothing is known of it."""
        found = estimated_precision(self.counts, self.means, self.scatter)
        return 1.0 if found is None else float(found.middle)

    def cells(self, sizes: Interval, dimension: int) -> Cells:
        """What values say of a noise that all arms share, for displacements of these sizes."""
        return cells_of(self.counts, self.means, self.scatter, sizes, dimension)

    def gap(self, pair: tuple[int, int], tol: float) -> Interval:
        """By how much an incumbent's mean, with the tolerance, is above a challenger's."""
        (i, j), apart = pair, self.lost[pair[0]] + self.lost[pair[1]]
        gap = self.exact[j] - self.exact[i] + Fraction(tol)
        return Interval(of_fraction(gap - apart).low, of_fraction(gap + apart).high)


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
    """A question that can be asked of these candidates."""
    parts = given.parts(
        "m", "delta", "misspecification", "noise", "tolerance", "direction", "algorithm",
        "stopping", "seed", "mean_bound", "structured", "noise_model", "reward_range",
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
    deviations = np.broadcast_to(np.array(noise), (candidates.K,))
    tol, sign = parts["tolerance"].number(0.0), SIGNS[parts["direction"].text(*SIGNS)]
    return Settings(
        m=parts["m"].whole(1, candidates.K - 1),
        delta=delta,
        eps=eps,
        noise=deviations,
        tol=tol,
        sign=sign,
        stopping=parts["stopping"].text("guaranteed"),
        structured=_read_structured(parts["structured"], candidates),
        noise_model=read_noise_model(parts, deviations, tol, sign),
    )


def _read_structured(given: Value, candidates: Candidates) -> bool:
    """Whether features have a weight: fixed when the study began, whatever was declared since."""
    structured = given.flag()
    if structured and candidates.features is None:
        raise given.fail("false for candidates without features")
    return structured


def read_moment(given: Value, candidates: Candidates, settings: Settings) -> Data:
    """Counts add up."""
    return _data_of(given.parts(*MOMENT), candidates.K, settings)


def read_now(
    given: Value, candidates: Candidates, settings: Settings
) -> tuple[Data, Vector | None]:
    """All measurements by now, and the sums (K,) of their squared deviations from the means.

    These are for the test of a declared noise, and None without one.
    """
    parts = given.parts(*MOMENT, "squares")
    data = _data_of(parts, candidates.K, settings)
    if settings.noise_model.name != KNOWN:
        if not parts["squares"].absent:
            raise parts["squares"].fail("null where no noise was declared")
        return data, None
    squares = np.array([entry.number(0.0) for entry in parts["squares"].entries(candidates.K)])
    alone = (data.counts < 2.0) & (squares != 0.0)
    if np.any(alone):
        k = int(np.argmax(alone))
        raise Failure(f"{parts['squares'].name}[{k}] must be 0 with fewer than two measurements")
    return data, squares


def _data_of(parts: dict[str, Value], K: int, settings: Settings) -> Data:
    counts = np.array(
        [entry.whole(0, MOST_SAMPLES) for entry in parts["counts"].entries(K)], dtype=np.float64
    )
    samples, total = parts["samples"].whole(1), int(np.sum(counts))
    if total != samples or samples > MOST_SAMPLES:
        name, counted = parts["samples"].name, parts["counts"].name
        raise Failure(f"{name} must be the sum of {counted}, {total}; got {samples}")
    sums = parts["sums"].vector(K)
    wrong = (counts == 0.0) & (sums != 0.0)
    if np.any(wrong):
        raise Failure(f"{parts['sums'].name}[{int(np.argmax(wrong))}] must be 0: never measured")
    means = np.divide(sums, counts, out=np.zeros(K), where=counts > 0.0)
    weights = (exactly(counts) / exactly(settings.noise).square).where(counts > 0.0, 0.0)
    if not np.all(np.isfinite(weights.high) & ((weights.low > 0.0) | (counts == 0.0))):
        raise Failure("settings.noise must be such that counts can be divided by its square")
    model, nothing = settings.noise_model, np.zeros(K)
    model.refuse_sums(parts["sums"].name, counts, settings.sign * sums)
    scatter = model.read_scatter(parts["scatter"], counts)
    now = counts, settings.sign * sums
    model.refuse_calm(parts["scatter"].name, (nothing, nothing), now, scatter)
    return Data(samples, counts, settings.sign * sums, settings.sign * means, weights, scatter)


def read_model(given: Value, candidates: Candidates, eps: float) -> Model:
    """The coordinates in which bounds and priors are stated; without features, a common level."""
    features = candidates.features
    if features is None:
        if not given.absent:
            raise given.fail("null for candidates without features")
        return level_only(candidates.K, eps)
    late = ("late",) if isinstance(given.given, Mapping) and "late" in given.given else ()
    parts = given.parts("columns", "spanner", *late)
    columns = parts["columns"].arms(features.shape[1])
    came_late = parts["late"].arms(candidates.K) if late else np.zeros(0, np.int64)
    return model_of(features, columns, parts["spanner"].arms(candidates.K), eps, came_late)
