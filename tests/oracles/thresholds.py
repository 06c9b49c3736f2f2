"""The constant of deviations of all arms at all times (Kaufmann and Koolen, JMLR 2021)."""

import math

from scipy.optimize import minimize_scalar
from scipy.special import zeta


def deviation_constant(x: float) -> float:
    """C(x) = min over 1/2 < l < 1 of (g(l) + x) / l (Theorem 9).

    g(l) = 2l - 2l ln(4l) + ln zeta(2l) - ln(1 - l) / 2. Whatever the rule that chose the arms, with
    probability 1 - delta no set S of arms, fixed beforehand, ever has evidence against its true
    means above  sum_S 2 ln(4 + ln N_k) + |S| C(ln(1/delta) / |S|).
    """

    def bound(share: float) -> float:
        g = 2 * share * (1 - math.log(4 * share)) + math.log(zeta(2 * share))
        return float(g - 0.5 * math.log1p(-share) + x) / share

    best = minimize_scalar(
        bound, bounds=(0.5 + 1e-9, 1 - 1e-12), method="bounded", options={"xatol": 1e-10}
    )
    return float(best.fun)
