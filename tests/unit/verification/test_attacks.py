"""Attackers against the checker: whatever it accepts, exact arithmetic accepts too.

Quick tests make a twentieth of `TRIES`, more than 100,000 together; slow ones make all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mislid
from helpers.forging import Forgery, forged
from mislid.errors import MislidError
from mislid.stopping.evidence import DIAGONAL_SCALES, diagonal_weights
from mislid.verification import tilted
from mislid.verification.families import (
    DIAGONAL,
    LINEAR,
    TWO_ARMS,
    Moment,
    by_two_arms,
    families_of,
)
from mislid.verification.geometry import Model, Witness, model_of
from mislid.verification.intervals import exactly, of_fraction, stack
from oracles.exact_evidence import Exact

TRIES = {"two arms": 50_000, "linear": 24_000, "witnesses": 30_000, "tilted": 1_500}
EFFORTS = [pytest.param(20, id="quick"), pytest.param(1, id="all", marks=pytest.mark.slow)]
RNG = np.random.Generator
EVERY_PAIR = "evidence of every pair"


def hostile(rng: RNG, size: Any = None) -> Any:
    """Numbers of all sizes and signs: ordinary, huge, tiny, below the least normal one, and 0."""
    power = rng.choice([0.0, 0.0, 3.0, 16.0, 100.0, 307.0, -16.0, -150.0, -323.0], size=size)
    found = rng.choice([-1.0, 1.0], size=size) * 10.0 ** (power * rng.random(size))
    return np.where(rng.random(size) < 0.05, 0.0, found)


@pytest.mark.parametrize("effort", EFFORTS)
def test_two_arms_claim_no_more_than_the_truth(effort: int) -> None:
    """Sums at levels where doubles are coarser than the noise, and every other size."""
    rng = np.random.default_rng(0)
    proved = 0
    for _ in range(TRIES["two arms"] // effort // 100):
        K, noise = 2, float(10.0 ** rng.choice([0.0, -3.0, 3.0, 100.0, -100.0]))
        family = families_of(K, 1, False, exactly(np.full(K, noise)))[TWO_ARMS]
        counts = rng.integers(1, rng.choice([3, 50, 10**6, 2**40]), size=(100, 2)).astype(float)
        level = noise * float(rng.choice([0.0, 1.0, 1e8, 1e15, 1e17, 1e30]))
        sums = counts * (level + noise * rng.normal(size=(100, 2)) * rng.choice([0.1, 3.0, 100.0]))
        if rng.random() < 0.2:
            sums = np.nan_to_num(hostile(rng, (100, 2)))
        tol = float(abs(hostile(rng))) if rng.random() < 0.1 else 0.0
        exact = [Exact(None, [], n, s, noise, math.inf) for n, s in zip(
            counts.astype(int).tolist(), sums.tolist(), strict=True)]  # fmt: skip
        gaps = stack([of_fraction(one.y[1] - one.y[0] + Fraction(tol)) for one in exact])
        weights = exactly(counts) / exactly(noise).square
        found = by_two_arms(family, gaps, weights[:, 0], weights[:, 1])
        for low, one in zip(found.low.tolist(), exact, strict=True):
            if low > 0.0:
                truth = one.by_two_arms((0, 1), tol)
                assert Decimal(low) <= truth, (low, truth)
                proved += low >= 0.999999 * float(truth)
    assert proved > 0.05 * TRIES["two arms"] // effort


def nasty_model(rng: RNG, eps: float) -> tuple[list[list[float]], Model] | None:
    """Features of all kinds, with a spanner; None where the model itself refuses them."""
    K, d = int(rng.integers(3, 6)), int(rng.integers(1, 4))
    A = rng.normal(size=(K, d))
    kind = rng.choice(["plain", "collinear", "scaled", "whole"])
    if kind == "collinear" and d > 1:
        A[:, -1] = A[:, -2] + 10.0 ** rng.uniform(-11, -3) * A[:, -1]
    if kind == "scaled":
        A = A * 10.0 ** rng.choice([-100.0, -8.0, 0.0, 8.0, 100.0], size=d)
    if kind == "whole":
        A = np.round(2.0 * A) + np.eye(K)[:, :d]
    try:
        model = mislid.Model(A, eps)
        spanner = mislid.spanner(model)
    except MislidError:
        return None
    if model.d < d:
        return None
    return A.tolist(), model_of(A, np.arange(d), np.asarray(spanner), eps)


def moment_of(rng: RNG, features: list[list[float]], model: Model, noise: float, level: float):
    """Data near the model or far from it, and the same for the judge."""
    A, K = np.array(features), len(features)
    counts = rng.integers(1, rng.choice([3, 60, 10**5]), size=K)
    counts[rng.random(K) < 0.1] = 0
    scale = np.max(np.abs(A), axis=0)
    means = (A / scale) @ rng.normal(size=A.shape[1]) * noise * rng.choice([0.1, 1.0, 10.0])
    means = means + level + noise * rng.normal(size=K) * rng.choice([0.0, 0.1, 1.0, 1e6])
    sums = counts * means
    exact = Exact(
        features, model.spanner.tolist(), counts.tolist(), sums.tolist(), noise, model.eps
    )
    weights = exactly(counts.astype(float)) / exactly(noise).square
    weights = weights.where(counts > 0, 0.0)
    return Moment(model, exact.y, weights), exact, counts, sums


@pytest.mark.parametrize("effort", EFFORTS)
def test_features_claim_no_more_than_the_truth(effort: int) -> None:
    rng = np.random.default_rng(2)
    tried = proved = 0
    while tried < TRIES["linear"] // effort:
        noise = float(10.0 ** rng.choice([0.0, 0.0, -3.0, 6.0]))
        eps = noise * float(rng.choice([0.0, 0.01, 1.0]))
        made = nasty_model(rng, eps)
        if made is None:
            continue
        features, model = made
        K = len(features)
        family = families_of(K, 1, True, exactly(np.full(K, noise)))[LINEAR]
        level = noise * float(rng.choice([0.0, 1e4, 1e12, 1e17]))
        pairs = [(i, j) for i in range(K) for j in range(K) if i != j]
        for _ in range(8):
            moment, exact, *_ = moment_of(rng, features, model, noise, level)
            tol = noise * float(rng.choice([0.0, 0.5]))
            tried += len(pairs)
            try:
                found = moment.by_features(family, pairs, tol)
            except (np.linalg.LinAlgError, ArithmeticError):
                continue
            for pair, low in zip(pairs, found.low.tolist(), strict=True):
                if low > -1.0:
                    truth = exact.by_features(pair, tol)
                    assert Decimal(low) <= truth, (features, pair, low, truth)
                    proved += low >= 0.999 * float(truth) - 1e-3
    assert proved > 0.05 * tried


def judged(rng: RNG, exact: Exact, counts, tol: float, noise: float):
    """A pair, a scale, the closest alternative there, and exact evidence against a null near it."""
    pair = tuple(rng.choice(exact.K, 2, replace=False).tolist())
    scale = int(rng.integers(len(DIAGONAL_SCALES)))
    model = mislid.Model([[float(x) for x in row] for row in exact.A], exact.eps)
    means = np.array([float(y) for y in exact.y])
    q, _ = diagonal_weights(counts / noise**2, noise * DIAGONAL_SCALES[scale])
    try:
        solved = mislid.pair_alternative(model, means, q, *pair, tolerance=tol)
    except MislidError:
        return None
    if not math.isfinite(solved.cost):
        return None
    theta, alpha = solved.theta.tolist(), float(solved.alpha)
    null = exact.null_near(theta, alpha, pair, tol, scale)
    return None if null is None else (pair, scale, theta, alpha, exact.at_null(scale, null))


def witnesses(rng: RNG, ask: Callable[[Witness], float], near: Any, alpha: float, tries: int):
    """What an attacker tries: sizes at random, and from the best so far steps that report more."""
    best, best_witness = -math.inf, Witness(near, alpha)
    for n in range(tries):
        if n % 3 == 0:
            size = 10.0 ** rng.choice([-300.0, -16.0, 0.0, 14.0, 15.0, 16.0, 150.0, 300.0])
            values = near * rng.choice([0.0, 1.0]) + size * rng.normal(size=near.size)
            push = float(rng.choice([abs(hostile(rng)), alpha, alpha * size, size, 0.0]))
        else:
            step = 10.0 ** rng.uniform(-17.0, 1.0)
            values = best_witness.values * (1.0 + step * rng.normal(size=near.size))
            push = abs(best_witness.alpha * (1.0 + step * rng.normal()))
        witness = Witness(np.nan_to_num(values), push if math.isfinite(push) else 1e300)
        found = ask(witness)
        yield found
        if found > best:
            best, best_witness = found, witness


@pytest.mark.parametrize("effort", EFFORTS)
def test_no_witness_claims_more_than_the_truth(effort: int) -> None:
    rng = np.random.default_rng(4)
    tried = close = 0
    while tried < TRIES["witnesses"] // effort:
        noise = float(10.0 ** rng.choice([0.0, -3.0, 6.0]))
        made = nasty_model(rng, noise * float(rng.choice([0.0, 0.1, 2.0])))
        if made is None:
            continue
        features, model = made
        level = noise * float(rng.choice([0.0, 1.0, 1e10]))
        moment, exact, counts, _ = moment_of(rng, features, model, noise, level)
        family = families_of(exact.K, 1, True, exactly(np.full(exact.K, noise)))[DIAGONAL]
        tol = noise * float(rng.choice([0.0, 0.5]))
        made = judged(rng, exact, counts, tol, noise)
        if made is None:
            continue
        pair, scale, theta, alpha, truth = made
        near = np.array([float(sum(a * Fraction(t) for a, t in zip(exact.A[k], theta, strict=True)))
                         for k in model.spanner])  # fmt: skip

        def ask(witness: Witness, pair=pair, scale=scale, tol=tol, moment=moment, family=family):
            try:
                found = moment.by_all_arms(family, scale, witness, pair, tol)
            except (np.linalg.LinAlgError, ArithmeticError):
                return -math.inf
            low = float(found.low)
            return low if low == low else -math.inf

        tries = 200
        for found in witnesses(rng, ask, near, alpha, tries):
            assert found == -math.inf or Decimal(found) <= truth, (features, pair, found, truth)
            close += found > float(truth) - 1e-6 * (1.0 + abs(float(truth)))
        tried += tries
    assert close > 0.01 * tried


def exact_tilted(arm: tilted.Arm, x: Fraction) -> Decimal:
    """ln of the average of docs/certificate-proof.md, a and b, if the mean is x."""
    logs = []
    sizes = [Decimal("0.005") * 2**power for power in range(11)]
    kinds = [sizes] if arm.scatter is None else [sizes, sizes[:8]]
    n, total = Decimal(arm.n), dec(arm.total)
    for empirical, some in enumerate(kinds):
        weights = [(-abs((b / Decimal("0.1")).ln()) / 2).exp() for b in some]
        for b, weight in zip(some, weights, strict=True):
            log = (weight / sum(weights) / len(kinds)).ln()
            if empirical:
                psi = -(1 - b).ln() - b
                log += b * (total - n * dec(x)) - psi * Decimal(arm.scatter)
            else:
                log += b * total - n * (1 - dec(x) + dec(x) * b.exp()).ln()
            logs.append(log)
    at = max(logs)
    return at + sum((one - at).exp() for one in logs).ln()


def dec(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@pytest.mark.parametrize("effort", EFFORTS)
def test_values_in_a_range_claim_no_more_than_the_truth(effort: int) -> None:
    rng = np.random.default_rng(6)
    proved = 0
    for _ in range(TRIES["tilted"] // effort):
        arms = []
        for _ in range(2):
            n = int(rng.integers(1, rng.choice([4, 100, 10**5, 10**9])))
            mean = float(rng.choice([0.0, 1.0, rng.random(), rng.random()]))
            scatter = None if rng.random() < 0.5 else float(n * rng.choice([0.0, 1e-9, 0.1]))
            arms.append(tilted.Arm(n, Fraction(n) * Fraction(mean), scatter))
        i, j = sorted(arms, key=lambda one: one.total / one.n)
        tol = Fraction(float(rng.choice([0.0, 0.01, 0.3])))
        low = float(tilted.by_two_arms(i, j, tol).low)
        if not low > 0.0 or rng.random() < 0.7:  # few are looked at by the slow judge
            continue
        with localcontext(prec=30):
            at = min(Fraction(tilted._nearest(i.reflected, j, tol)), 1 - tol)
            truth = exact_tilted(j, at) + exact_tilted(i.reflected, 1 - at - tol)
            assert Decimal(low) <= truth
            proved += low > 0.99999 * float(truth)
    assert proved > 0.05 * TRIES["tilted"] // effort


def test_whole_files_of_a_forger_are_refused() -> None:
    """Answers that nothing settles, with witnesses that report as much as can be found."""
    rng = np.random.default_rng(8)
    for _ in range(4):
        claim = forged(rng, eps=float(rng.choice([0.0, 0.01])))
        best: dict[Any, Any] = {}
        for pair in claim.pairs():

            def ask(witness: Witness, pair=pair, claim=claim, best=best) -> float:
                scale = int(rng.integers(6))
                proof = (DIAGONAL, scale, witness.values.tolist(), witness.alpha)
                found = replace(claim, proofs={pair: proof}).reported(pair)
                if found > best.get(pair, (-math.inf,))[0]:
                    best[pair] = found, proof
                return found

            for found in witnesses(rng, ask, np.zeros(2), 1.0, 20):
                assert found < -math.log(claim.delta)
        proofs = {pair: proof for pair, (_, proof) in best.items()}
        assert EVERY_PAIR not in replace(claim, proofs=proofs).verified().checks


def test_means_that_doubles_cannot_tell_apart_prove_nothing() -> None:
    """Quotients are coarser than the noise: rounded, they differ by 8 standard deviations."""
    rng = np.random.default_rng(10)
    tried = 0
    for _ in range(5_000):
        counts, level = rng.integers(3, 9, size=2).tolist(), 10**17 + int(rng.integers(999))
        sums = [float(n * level) for n in counts]
        exact = [Fraction(s) / n for s, n in zip(sums, counts, strict=True)]
        rounded = sums[1] / counts[1] - sums[0] / counts[0]
        if not (rounded >= 16.0 and 0 < exact[1] - exact[0] < 5):
            continue
        tried += 1
        claim = Forgery(None, counts, sums, answer=(1,), noise=2.0)
        assert EVERY_PAIR not in claim.verified().checks
    assert tried > 20


def test_columns_that_the_model_keeps_cannot_be_left_out() -> None:
    """One that differs from another by 1e-10 of its size may still decide which arm is best."""
    rng = np.random.default_rng(11)
    for difference in (1e-9, 1e-10, 1e-12):
        A = rng.normal(size=(6, 2))
        A = np.column_stack([A, A[:, 1] + difference * rng.normal(size=6)])
        assert mislid.Model(A, 0.0).d == 3
        counts, means = [50] * 6, A[:, 0] * 5.0
        claim = Forgery(
            A.tolist(), counts, (50 * means).tolist(), eps=0.0,
            answer=(int(np.argmax(means)),),
            columns=[0, 1], spanner=mislid.spanner(A[:, :2]).tolist(),
        )  # fmt: skip
        claim = replace(claim, proofs={pair: (LINEAR, 0, [], 0.0) for pair in claim.pairs()})
        assert "model.columns must" in claim.verified().failure
        whole = replace(claim, columns=None, spanner=mislid.spanner(A).tolist())
        assert "model.columns" not in (whole.verified().failure or "")


def test_witnesses_are_of_no_use_where_numbers_overflow() -> None:
    claim = forged(np.random.default_rng(12))
    for noise in (1e-160, 6.6e153, 1e300):
        for sums in ([1e300, -1e300, 1.0, 2.0], claim.sums):
            assert not replace(claim, noise=noise, sums=sums).verified().ok


def test_an_honest_forger_gets_through() -> None:
    """The same ways prove what is true, so that the tests above can fail."""
    claim = replace(forged(np.random.default_rng(13)), sums=[0.0] * 4)
    sums = [200.0 if k in claim.answer else 0.0 for k in range(4)]
    counts = [50] * 4
    true = replace(claim, sums=sums, counts=counts, eps=9.0)
    assert true.verified().ok
