"""Draw docs/evidence.png: evidence by family along a run, where features are good, fair and poor.

`python -m benchmarks.evidence_picture docs/evidence.png`
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from mislid import Instance, closest_alternative
from mislid.engine import Engine
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import all_pairs
from mislid.paper.experiments.demo import M as DEMO_M
from mislid.paper.experiments.demo import demo_instance
from mislid.plotting.theme import GREY, LINES, tidy
from mislid.question import Question
from mislid.stopping.evidence import by_features, by_two_arms, diagonal_weights, families_of

from .cases import Floats
from .proof import with_descriptors

DELTA = 0.05
# Evidence below this is drawn at it: two arms have none before every arm was measured.
FLOOR = -6.0
NAMES = ("two arms", "along the features", "all arms")


class Moment(NamedTuple):
    """Samples, what the pair with least evidence has by each family, and the share settled."""

    samples: int
    evidence: tuple[float, float, float]
    settled: float


def look(engine: Engine) -> Moment:
    """The least evidence of a pair of the present answer, family by family."""
    question, w, y = engine.question, engine.weights, engine.means
    model, eps = question.model, question.model.misspecification
    parts = families_of(question.K, question.m, math.isfinite(eps), DELTA, question.noise)
    pairs = all_pairs(question.K, np.sort(engine.incumbents))
    i, j = pairs.T
    two = by_two_arms(parts.two_arms, y[j] - y[i], w[i], w[j]).min()
    X = coordinates(model).matrix
    linear = by_features(parts.linear, X, w, y, eps, 0.0, pairs).min()
    every = max(
        _closest(engine, scale) + log
        for scale, log in zip(parts.diagonal.scales, parts.diagonal.logs, strict=True)
    )
    return Moment(
        engine.samples,
        (max(two, FLOOR), max(linear, FLOOR), max(every, FLOOR)),
        len(engine.settled()) / len(pairs),
    )


def _closest(engine: Engine, scale: float) -> float:
    q, price = diagonal_weights(engine.weights, scale)
    model, m = engine.question.model, engine.question.m
    alternative = closest_alternative(model, engine.means, q, m, incumbents=engine.incumbents)
    return alternative.cost - price


def follow(instance: Instance, m: int, seed: int) -> list[Moment]:
    """A run, looked at now and then and at its end."""
    engine = Engine(Question(instance.model, m, noise=instance.noise, delta=DELTA), seed=seed)
    rng, moments, due = np.random.default_rng(seed), [], 0.0
    design = engine.design.tolist()
    while True:
        arm = design.pop(0) if design else engine.propose()
        engine.observe(arm, instance.means[arm] + instance.noise[arm] * rng.normal())
        if design:
            continue
        decided = engine.judge().decided
        if decided or engine.samples >= due:
            moments.append(look(engine))
            due = max(engine.samples + 1, 1.06 * engine.samples)
        if decided:
            return moments


def draw(figure: Figure) -> None:
    """Three panels."""
    cases = (
        ("200 arms, descriptors exact", with_descriptors(0.0), 3),
        ("200 arms, wrong by a quarter of the gap", with_descriptors(0.15), 3),
        ("12 arms, wrong by twice the gap", demo_instance(), DEMO_M),
    )
    for axes, (title, instance, m) in zip(figure.subplots(1, 3), cases, strict=True):
        moments = follow(instance, m, 1)
        samples = np.array([moment.samples for moment in moments])
        lines: Floats = np.array([moment.evidence for moment in moments])
        for name, line, colour in zip(NAMES, lines.T, LINES, strict=False):
            axes.plot(samples, line, color=colour, label=name)
        axes.axhline(-np.log(DELTA), color=GREY, linestyle="--", linewidth=1)
        axes.text(samples[0], -np.log(DELTA) + 0.15, "ln(1/delta)", color=GREY, fontsize=8)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set(xlabel="measurements", xscale="log", ylim=(FLOOR - 0.4, 4.5))
        axes.minorticks_off()
        tidy(axes)
        shares = axes.twinx()
        shares.fill_between(
            samples, [moment.settled for moment in moments], color=GREY, alpha=0.15, step="post"
        )
        shares.set(ylim=(0, 1.05), yticks=[0, 1], yticklabels=["", ""])
        shares.spines[:].set_visible(False)
        shares.tick_params(length=0)
    first = figure.axes[0]
    first.set_ylabel("evidence of the hardest pair (nats)")
    first.legend(frameon=False, loc="center left", fontsize=8)
    first.text(
        0.98,
        0.25,
        "grey: share of pairs settled",
        transform=first.transAxes,
        ha="right",
        fontsize=8,
    )


if __name__ == "__main__":
    picture = Figure(figsize=(12, 3.6), layout="constrained")
    draw(picture)
    picture.savefig(sys.argv[1], dpi=110)
