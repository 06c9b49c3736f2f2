"""Thresholds of the stopping rules in plain Python."""

from __future__ import annotations

import math

from scipy.special import lambertw

from mislid._validation import as_number


def heuristic_threshold(t: float, delta: float) -> float:
    """ln((1 + ln(t + 1)) / delta) after t samples: no guarantee.

    The published experiments used it.

    Examples
    --------
    >>> round(heuristic_threshold(40_000, 0.05), 2)
    5.45
    """
    return _log_inverse(delta) + math.log(1.0 + math.log(t + 1.0))


def paper_unstructured_threshold(t: float, K: int, delta: float) -> float:
    """The paper's beta_uns: 2K Wbar(ln(2e/delta) / (2K) + ln(8 e K ln t) / 2).

    Wbar(x) = -W_{-1}(-exp(-x)), for x from 1 on. Bounds the evidence between the true means and
    their projected estimates at confidence delta/2, whatever the features.

    The lemma behind it holds for all samples up to a fixed t, while a stopping rule needs all t at
    once. That it may be used all the same is due to Kaufmann and Koolen: for all t of practical
    interest (every t up to 1e16) it lies above their bound for all K arms (JMLR 2021, Theorem 9).

    Examples
    --------
    >>> round(paper_unstructured_threshold(40_000, 10, 0.05), 1)
    117.5
    """
    level = _log_inverse(delta)
    if t <= 1:
        return math.inf
    x = (1.0 + math.log(2.0) + level) / (2 * K) + math.log(8.0 * math.e * K * math.log(t)) / 2.0
    return float(-2 * K * lambertw(-math.exp(-max(x, 1.0)), -1).real)


def paper_linear_threshold(
    t: float,
    d: int,
    delta: float,
    misspecification: float,
    *,
    information: float | None = None,
    printed: bool = False,
) -> float:
    """The paper's beta_lin, corrected or as printed; it needs V >= 2 L^2 I.

    The evidence between truth and estimate splits, orthogonally in the weights N, into that of the
    linear parts and that of the rest. The first exceeds

        b0(c) = 1 + ln(1/c) + (1 + 1/ln(1/c)) d/2 ln(1 + t ln(1/c) / (2d))

    with probability at most c. The second is at most 1/2 sum_k N_k (2 eps / sigma_k)^2, because it
    is no longer than the difference of two deviations within eps. Squares add:
    b0(delta/2) + 2 eps^2 information. The text prints 1/2 (4 eps sqrt(t) + sqrt(2 b0(delta)))^2:
    a triangle inequality where the parts are orthogonal, and delta where the union with beta_uns
    leaves delta/2. `information` is sum_k N_k / sigma_k^2; t, as for noise 1, unless given.

    Examples
    --------
    >>> round(paper_linear_threshold(1000, 5, 0.05, 0.0), 1)
    23.5
    >>> round(paper_linear_threshold(1000, 5, 0.05, 0.1), 1)
    43.5
    >>> round(paper_linear_threshold(1000, 5, 0.05, 0.1, printed=True), 1)
    188.9
    """
    level = _log_inverse(delta if printed else delta / 2)
    b0 = 1.0 + level + (1.0 + 1.0 / level) * d / 2 * math.log1p(t * level / (2 * d))
    weight = float(t) if information is None else float(information)
    if not printed:
        return b0 + 2.0 * weight * misspecification * misspecification
    root = 4.0 * misspecification * math.sqrt(weight) + math.sqrt(2.0 * b0)
    return 0.5 * root * root


def paper_threshold(
    t: float,
    K: int,
    d: int,
    delta: float,
    misspecification: float,
    *,
    information: float | None = None,
    printed: bool = False,
) -> float:
    """min(beta_uns, beta_lin), the paper's threshold.

    Examples
    --------
    >>> round(paper_threshold(40_000, 10, 5, 0.05, 5.0), 1)
    117.5
    """
    linear = paper_linear_threshold(
        t, d, delta, misspecification, information=information, printed=printed
    )
    return min(paper_unstructured_threshold(t, K, delta), linear)


def _log_inverse(delta: float) -> float:
    return -math.log(as_number(delta, "delta", low=0, high=1, low_open=True, high_open=True))
