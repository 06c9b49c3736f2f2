"""Bounds contain what exact arithmetic gives, for numbers of every size."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from mislid.verification import intervals
from mislid.verification.intervals import Interval, exactly, product

TRIES = 1_000


def drawn(rng: np.random.Generator, size: int | tuple[int, ...]) -> np.ndarray:
    """Doubles of all sizes: ordinary, huge, tiny, below the least normal one, and 0."""
    exponents = rng.choice([0.0, 1.0, 8.0, 150.0, -150.0, -310.0], size=size)
    values = rng.normal(size=size) * 10.0 ** (exponents * rng.random(size))
    return np.where(rng.random(size) < 0.02, 0.0, values)


def between(rng: np.random.Generator, size: int | tuple[int, ...]) -> Interval:
    """Intervals, half of them single numbers."""
    one = drawn(rng, size)
    other = np.where(rng.random(size) < 0.5, one, one * (1.0 + 1e-9 * rng.random(size)))
    return Interval(np.minimum(one, other), np.maximum(one, other))


def inside(rng: np.random.Generator, given: Interval) -> list[Fraction]:
    """An exact number of each."""
    share = rng.integers(0, 8, size=given.low.shape).ravel().tolist()
    ends = zip(given.low.ravel().tolist(), given.high.ravel().tolist(), share, strict=True)
    return [Fraction(a) + (Fraction(b) - Fraction(a)) * Fraction(t, 7) for a, b, t in ends]


def contains(found: Interval, exact: list[Fraction | Decimal]) -> bool:
    """Ends that are not finite say nothing, which is right."""
    low, high = (end.ravel().tolist() for end in np.broadcast_arrays(found.low, found.high))
    return all(
        (not np.isfinite(a) or type(x)(a) <= x) and (not np.isfinite(b) or x <= type(x)(b))
        for a, b, x in zip(low, high, exact, strict=True)
    )


@pytest.mark.parametrize("name", ["__add__", "__sub__", "__mul__", "__truediv__"])
def test_operations(name: str) -> None:
    rng = np.random.default_rng(0)
    a, b = between(rng, TRIES), between(rng, TRIES)
    if name == "__truediv__":
        b = Interval(np.abs(b.low) + 1e-290, np.abs(b.low) * (1.0 + 1e-9) + 2e-290)
    left, right = inside(rng, a), inside(rng, b)
    exact = [getattr(x, name)(y) for x, y in zip(left, right, strict=True)]
    assert contains(getattr(a, name)(b), exact)


def test_squares_sums_and_products() -> None:
    rng = np.random.default_rng(1)
    a = between(rng, (200, 9))
    numbers = inside(rng, a)
    assert contains(a.square, [x * x for x in numbers])
    assert contains(a.sum(), [sum(numbers, Fraction(0))])
    assert contains(a.positive, [max(x, Fraction(0)) for x in numbers])
    for _ in range(60):
        one, other = between(rng, (3, 5)), between(rng, (5, 2))
        left, right = inside(rng, one), inside(rng, other)
        exact = [
            sum((left[5 * r + t] * right[2 * t + c] for t in range(5)), Fraction(0))
            for r in range(3)
            for c in range(2)
        ]
        assert contains(product(one, other), exact)


@pytest.mark.parametrize(
    ("name", "exact", "low", "high"),
    [
        ("log", lambda x: x.ln(), 1e-300, 1e300),
        ("log1p", lambda x: (1 + x).ln(), 1e-20, 1e300),
        ("exp", lambda x: x.exp(), 1e-20, 700.0),
        ("expm1", lambda x: x.exp() - 1, 1e-20, 600.0),
        ("sqrt", lambda x: x.sqrt(), 1e-300, 1e300),
    ],
)
def test_functions(name: str, exact, low: float, high: float) -> None:
    rng = np.random.default_rng(2)
    given = np.exp(rng.uniform(np.log(low), np.log(high), size=TRIES))
    if name in ("log1p", "exp", "expm1"):
        given[::2] = np.maximum(-given[::2], -0.999999 if name == "log1p" else -600.0)
    with localcontext(prec=60):
        truth = [exact(Decimal(x)) for x in given.tolist()]
        assert contains(getattr(intervals, name)(given), truth)


def test_logarithms_of_gamma_functions() -> None:
    """Against Gamma(n) = (n - 1)! and Gamma(n + 1/2) = (2n)! sqrt(pi) / (4^n n!)."""
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582")
    with localcontext(prec=50):
        product_, half = Decimal(1), pi.sqrt()
        for n in range(1, 400):
            for x, gamma in ((Decimal(n), product_), (Decimal(n) - Decimal("0.5"), half)):
                rest = (x - Decimal("0.5")) * x.ln() - x + (2 * pi).ln() / 2
                found = intervals.log_gamma_beyond(exactly(np.array([float(x)])))
                assert contains(found, [gamma.ln() - rest])
                assert float(found.high[0] - found.low[0]) < 1e-13
            product_ *= n
            half *= Decimal(n) - Decimal("0.5")


def test_logarithms_of_sums() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        logs = rng.normal(size=8) * rng.choice([1.0, 100.0, 1e6])
        with localcontext(prec=50):
            at = Decimal(float(np.max(logs)))
            exact = at + sum((Decimal(x) - at).exp() for x in logs.tolist()).ln()
            found = intervals.log_sum(exactly(logs))
            assert contains(found, [exact])
            assert float(found.high - found.low) <= 1e-13 * (1.0 + abs(float(exact)))


def test_what_is_not_known_proves_nothing() -> None:
    for found in (
        exactly(1e308) + 1e308,
        exactly(1e200) * 1e200,
        exactly(1.0) / Interval(np.asarray(-1.0), np.asarray(1.0)),
        intervals.log(-1.0),
        intervals.of_fraction(Fraction(10) ** 400),
        intervals.exp(1e4),
    ):
        assert not found.low >= 1.0
