"""The checker where the noise is not known: its processes, and what data it refuses."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mislid
from helpers.certificates import CASES, certificate_of
from helpers.tampering import changed, sealed
from mislid.stopping.bounded_noise import Tilted, by_tilts, tilts_of
from mislid.stopping.unknown_noise import Sample, by_shifts, shifts
from mislid.verification import tilted, variances
from mislid.verification.intervals import exactly
from mislid.verification.noise import NoiseModel
from mislid.verification.reading import Failure
from oracles.noise import scatter_about_guesses

COUNTS = [1, 2, 5, 40, 3000, 10**6]
TOLERANCES = [0.0, 0.02, 0.4]


@pytest.mark.parametrize("noise_model", ["bounded", "bernoulli"])
def test_tilted_processes_are_those_of_the_rules(noise_model: str) -> None:
    rng, tilts = np.random.default_rng(0), tilts_of(noise_model)

    def drawn() -> Tilted:
        n, rate = int(rng.choice(COUNTS)), float(rng.choice([0.0, 0.01, 0.3, 0.5, 0.97, 1.0]))
        scatter = n * float(rng.choice([0.0, 1e-4, 0.01, 0.2])) if noise_model == "bounded" else 0.0
        return Tilted(n, float(rng.binomial(n, rate)), scatter)

    def own(arm: Tilted) -> tilted.Arm:
        scatter = arm.scatter if noise_model == "bounded" else None
        return tilted.Arm(int(arm.n), Fraction(arm.total), scatter)

    for _ in range(60):
        i, j, tol = drawn(), drawn(), float(rng.choice(TOLERANCES))
        expected = by_tilts(tilts, i, j, tol)
        close = 2e-10 + 1e-14 * max(i.n, j.n)
        found = tilted.by_two_arms(own(i), own(j), Fraction(tol))
        assert float(found.low) == pytest.approx(expected, 1e-9, close)


def test_processes_of_any_variance_are_those_of_the_rules() -> None:
    rng, given = np.random.default_rng(2), shifts()

    def drawn() -> Sample:
        n = int(rng.choice(COUNTS))
        scatter = (n - 1) * float(rng.choice([0.0, 1e-6, 1.0, 1.0, 100.0]))
        return Sample(n, float(rng.normal() * rng.choice([0.01, 1.0, 10.0])), scatter)

    with np.errstate(all="ignore"):
        for _ in range(40):
            i, j, tol = drawn(), drawn(), float(rng.choice(TOLERANCES))
            expected = by_shifts(given, i, j, tol)
            gap = exactly(j.mean - i.mean + tol)
            arms = (variances.Arm(one.n, one.scatter) for one in (i, j))
            bounds = variances.by_two_arms(*arms, gap)
            close = 1e-9 * (1.0 + abs(expected)) + 1e-14 * max(i.n, j.n)
            # Without scatter it jumps where a mean is met.
            more = 0.0 if i.scatter > 0.0 < j.scatter else 0.02
            assert (
                bounds.low - close - more <= expected <= bounds.high + close
                or bounds.low == expected
            )
            assert not bounds.high - bounds.low > close + 1e-13 * max(i.n, j.n)


def refusal(forged: dict[str, Any]) -> str:
    """Why a certificate that is sealed again is refused."""
    outcome = mislid.verify(sealed(forged))
    assert not outcome.ok
    assert outcome.failure is not None
    return outcome.failure


@pytest.mark.parametrize(
    ("name", "place", "value", "failure"),
    [
        ("bounded", ("data", "scatter", 0), -1.0, "at least 0"),
        ("bounded", ("data", "scatter", 1), 1e6, "scatter[1] must be at most the count"),
        ("bounded", ("data", "scatter"), None, "data.scatter must be a list"),
        ("bounded", ("data", "sums", 1), 1e5, "sums[1] must be of values within"),
        ("bounded", ("settings", "reward_range"), [-3.0, 5.5], "settings.noise must be"),
        ("bounded", ("settings", "tolerance"), 9.0, "less than the range"),
        ("bounded", ("settings", "noise_model"), "bernoulli", "reward_range must be 0 and 1"),
        ("bounded", ("settings", "noise_model"), "known", "null where the noise is known"),
        ("unknown noise", ("data", "scatter", 0), -1e-9, "at least 0"),
        ("unknown noise", ("settings", "noise"), [0.1], "settings.noise must be 1"),
        ("unknown noise", ("settings", "structured"), True, "features prove nothing"),
        ("rates", ("data", "sums", 0), 10.5, "must be a whole number"),
        ("rates", ("data", "scatter"), [0.0] * 5, "null where the noise is bernoulli"),
        ("rates", ("settings", "direction"), "minimize", "maximize for values 0 and 1"),
        ("rates", ("settings", "reward_range"), [0.0, 2.0], "must be 0 and 1"),
        ("by both", ("settings", "reward_range"), [0.0, 1.0], "null where the noise is known"),
    ],
)
def test_what_cannot_be_is_refused(name: str, place: Any, value: Any, failure: str) -> None:
    assert failure in refusal(changed(certificate_of(name), place, value))


@pytest.mark.parametrize("name", ["equal noise", "equal noise, by the features"])
@pytest.mark.parametrize("part", [0.5, 1.01])
def test_other_scatter_is_another_noise(name: str, part: float) -> None:
    """All pairs rest on the scatter of every arm."""
    found = certificate_of(name)
    for k, scatter in enumerate(found["data"]["scatter"]):
        forged = changed(found, ("data", "scatter", k), part * scatter)
        forged = changed(forged, ("now", "scatter", k), part * scatter)
        assert "evidence[0].evidence must be" in refusal(forged)


def test_a_known_noise_cannot_be_made_of_one_that_was_estimated() -> None:
    found = certificate_of("equal noise, by the features")
    forged = changed(found, ("settings", "noise_model"), "known")
    for place in ("data", "now"):
        forged = changed(forged, (place, "scatter"), None)
    forged = changed(forged, ("now", "squares"), found["now"]["scatter"])
    assert "evidence[0].evidence must be" in refusal(forged)


def test_single_values_have_no_scatter() -> None:
    found = certificate_of("unknown noise")
    counts, sums = found["data"]["counts"], found["data"]["sums"]
    forged = changed(found, ("data", "counts"), [1, counts[0] + counts[1] - 1, *counts[2:]])
    assert len(sums) == len(counts)
    assert "scatter[0] must be 0 of so few" in refusal(forged)


@pytest.mark.parametrize(
    "name", ["unknown noise, drifting", "equal noise, drifting", "bounded, drifting"]
)
def test_scatter_does_not_fall(name: str) -> None:
    found = certificate_of(name)
    early, late = found["times"][0], (*found["times"][1:], found["data"])[0]
    assert any(a < b for a, b in zip(early["counts"], late["counts"], strict=True))
    for k, (n, more) in enumerate(zip(early["counts"], late["counts"], strict=True)):
        later = late["scatter"][k]
        forged = changed(found, ("times", 0, "scatter", k), later + 1e-3 if n < more else 1e-9)
        assert f"scatter[{k}] must be" in refusal(forged)


def test_less_scatter_cannot_be_claimed_where_evidence_rests_on_it() -> None:
    for name in CASES:
        if not name.startswith(("bounded, drifting", "unknown noise")):
            continue
        found = certificate_of(name)
        forged = changed(found, ("data", "scatter"), [0.5 * v for v in found["data"]["scatter"]])
        forged["now"]["scatter"] = list(forged["data"]["scatter"])
        forged["times"] = []
        assert "evidence[" in refusal(forged)


def test_values_that_are_all_as_guessed_cannot_have_another_mean() -> None:
    """A guess only moves with values that are away from it."""
    found = certificate_of("bounded")
    for size in (0.0, 1e-6):
        forged = changed(found, ("data", "scatter"), [size for _ in found["data"]["scatter"]])
        forged["now"]["scatter"] = list(forged["data"]["scatter"])
        assert "must be larger: the values are not alike" in refusal(forged)


def test_the_least_scatter_of_bounded_values_is_reached() -> None:
    """Values that move the guess by equal shares of what they cost; others cost more."""
    rng, model = np.random.default_rng(3), NoiseModel("bounded")
    for n in (1, 2, 5, 60):
        steps = 0.3 / np.arange(2.0, n + 2.0)
        total, scatter = 0.0, 0.0
        for t, step in enumerate(steps.tolist()):
            guess = (0.5 + total) / (t + 1)
            total, scatter = total + guess + step, scatter + step**2
        ends = (np.zeros(1), np.zeros(1)), (np.array([float(n)]), np.array([total]))
        model.refuse_calm("scatter", *ends, np.array([scatter]))
        with pytest.raises(Failure, match="must be larger"):
            model.refuse_calm("scatter", *ends, np.array([0.9 * scatter]))
        for _ in range(50):
            before = rng.random(rng.integers(0, 9))
            values = np.concatenate([before, rng.random(n)])
            cut = len(before)
            scatters = [scatter_about_guesses(values[:end]) for end in (cut, len(values))]
            ends = [
                (np.array([float(end)]), np.array([values[:end].sum()]))
                for end in (cut, len(values))
            ]
            model.refuse_calm("scatter", *ends, np.array([scatters[1] - scatters[0]]))
