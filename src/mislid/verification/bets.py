"""Evidence of pairs where values are within a range, by bets.

Values X are scaled to [0, 1]. If their mean is x, the factor 1 - b + b X / x of a bet 0 <= b < 1 is
not negative and has the mean 1, and so has exp(b X) / (1 - x + x e^b) of values 0 and 1. E+(x) is
the average of its products over bets, E-(x) the same of 1 - X at 1 - x. ln E+ falls in x and is
convex: the slope of ln(1 - b + b X / x) is -b X / (x ((1 - b) x + b X)).

Of n values let the mean be y, the variance v, and c at most the least of them. Then a product is at
least that of two atoms of the same mean and variance,

    n v / (v + (y-c)^2) values at c,    n (y-c)^2 / (v + (y-c)^2) at top = y + v / (y-c).

*Proof.* f(X) = ln(1 - b + b X / x) has a third derivative that is not negative. Let p be the
parabola with p(c) = f(c), p(top) = f(top) and p'(top) = f'(top). For X >= c,
f(X) - p(X) = f'''(.) (X - c) (X - top)^2 / 6 >= 0. The sum of p over the values depends on n, y and
v alone: it is that over the two atoms, where p = f.

For values 0 and 1, exp(b X) is linear in X on them, so number and mean say all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mislid.verification import intervals as iv
from mislid.verification.geometry import Pair
from mislid.verification.intervals import Interval, around, exactly
from mislid.verification.question import Kind, Question
from mislid.verification.reading import Vector
from mislid.verification.record import Moment

ODDS = np.array([2.0 ** (1.5 * power - 11.0) for power in range(11)])
BETS = around(ODDS) / (around(ODDS) + 1.0)
BET_LOGS = iv.weights(around(ODDS), 0.25, 4.0)
TILTS = around([0.005 * 2.0**power for power in range(11)])
TILT_LOGS = iv.weights(TILTS, 0.1, 2.0)
GROWTH = iv.expm1(TILTS)
# c is so much less than the least value: rounding is nothing beside its distance from the mean.
MARGIN = 1e-9
# Ties are looked for so far from the ends, by so many halvings; tangents so far apart.
EDGE, HALVINGS, APART = 1e-12, 40, 1e-7


@dataclass(frozen=True, eq=False)
class Side:
    """Of arms (n,): how many values, their mean, and two atoms with their numbers of values."""

    tilted: bool
    n: Interval
    mean: Interval
    low: Interval
    few: Interval
    top: Interval
    rest: Interval

    def log(self, x: Interval) -> tuple[Interval, Interval]:
        """ln E+ at x (n,), at least, and its slope."""
        x = x[:, None]
        n, mean, low, few, top, rest = (
            one[:, None] for one in (self.n, self.mean, self.low, self.few, self.top, self.rest)
        )
        if self.tilted:
            parts = x * GROWTH
            logs = TILTS * (n * mean) - iv.log1p(parts) * n + TILT_LOGS
            slopes = -(GROWTH * n / (parts + 1.0))
        else:
            lose, win = (BETS * (at / x - 1.0) for at in (low, top))
            logs = iv.log1p(lose) * few + iv.log1p(win) * rest + BET_LOGS
            left = (exactly(1.0) - BETS) * x
            slopes = few * low / (left + BETS * low) + rest * top / (left + BETS * top)
            slopes = -(slopes * BETS / x)
        value = iv.log_sum(logs)
        return value, (iv.exp(logs - value[:, None]) * slopes).sum(axis=1)


def _side(question: Question, moment: Moment, arms: list[int], up: bool) -> Side:
    """Values of arms scaled to [0, 1], or 1 less these."""
    width = Fraction(question.high) - Fraction(question.low)
    end, sign = Fraction(question.low if up else question.high), 1 if up else -1
    bounds, found = moment.least if up else moment.most, list[tuple[Fraction, ...]]()
    for k in arms:
        n, c = Fraction(max(int(moment.counts[k]), 1)), Fraction(0)
        mean, v = sign * (moment.means[k] - end) / width, moment.scatter[k] / width**2 / n
        if moment.counts[k] > 0.0:
            least = float(sign * (Fraction(bounds[k]) - end) / width)
            c = Fraction(max(least - MARGIN, 0.0))
        apart = mean - c
        share = apart**2 / (v + apart**2) if apart > 0 else Fraction(0)
        top = mean + v / apart if apart > 0 else Fraction(1)
        found.append((n, mean, c, n * (1 - share), top, n * share))
    columns = (iv.of_fractions(column) for column in zip(*found, strict=True))
    return Side(question.kind == Kind.BERNOULLI, *columns)


def by_bets(question: Question, moment: Moment, pairs: list[Pair]) -> Interval:
    """Evidence of pairs (n,): the least of ln E+_j(x) + ln E-_i(x + tol) over the tie x.

    It is convex in x, so above every average of its tangents at two points. The weights are such
    that the average is nearly level; it is least at an end of [0, 1 - tol].
    """
    i, j = (list(arms) for arms in zip(*pairs, strict=True))
    up, down = _side(question, moment, j, True), _side(question, moment, i, False)
    width = Fraction(question.high) - Fraction(question.low)
    room = iv.of_fraction(1 - Fraction(question.tol) / width)
    if not room.low > 4.0 * EDGE:
        return exactly(np.full(len(pairs), -math.inf))

    def tangent(x: Vector) -> tuple[Interval, Interval]:
        rise, fall = up.log(exactly(x)), down.log(room - x)
        return rise[0] + fall[0], rise[1] - fall[1]

    low = np.full(len(pairs), EDGE)
    high = np.full(len(pairs), float(room.low) - EDGE)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        falls = tangent(middle)[1].middle < 0.0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    step = APART * np.minimum(low, room.low - low)
    x1, x2 = low - step, low + step

    (f1, s1), (f2, s2) = tangent(x1), tangent(x2)
    fall, rise = np.minimum(s1.middle, 0.0), np.maximum(s2.middle, 0.0)
    share = exactly(np.where(rise > fall, rise / np.where(rise > fall, rise - fall, 1.0), 0.5))
    rest = exactly(1.0) - share
    height = (f1 - s1 * x1) * share + (f2 - s2 * x2) * rest  # at 0
    other = (f1 + s1 * (room - x1)) * share + (f2 + s2 * (room - x2)) * rest
    return Interval(np.minimum(height.low, other.low), np.minimum(f1.high, f2.high))
