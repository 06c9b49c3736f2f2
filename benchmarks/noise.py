"""What it costs not to know the noise, and how often answers are wrong if it is not Gaussian."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from mislid import Instance, Model, identify
from mislid.simulation.environments import Bernoulli, Bounded, Environment, Table
from mislid.simulation.identify import Identification

from .cases import Floats, published
from .families import FAMILIES
from .measuring import timed
from .report import Tables, digits, progress

DELTA = 0.05

# Of the first run; nothing was chosen on these.
SEED = 50_000
RATES = np.linspace(0.06, 0.02, 10)
HEADER = ("case", "told of the noise", "runs", "mean samples", "ratio", "wrong", "a round")
QUANTILES = (np.arange(20_000) + 0.5) / 20_000
BUDGET, GAP, DELTAS = 1_000, 0.01, (0.05, 0.3)
# Of arms whose noise is not equal: that of the others over that of the two that matter.
QUIET, QUIET_BUDGET, QUIET_GAP = (1.0, 0.7, 0.3, 0.1, 0.01), 2_000, 0.002


class Told(NamedTuple):
    """An instance, and what the rules are told."""

    case: str
    instance: Instance
    m: int
    runs: int
    words: str
    options: Mapping[str, Any]


def measured(told: Told) -> list[Identification]:
    """The runs of a row."""
    options = {"delta": DELTA, **told.options}
    seeds = range(SEED, SEED + told.runs)
    return [identify(told.instance, told.m, seed=seed, **options) for seed in seeds]


def compared(pairs: list[Told]) -> list[list[str]]:
    """Rows; the ratios are to the first one of a case."""
    rows, firsts = [], dict[str, float]()
    for told in pairs:
        progress(f"noise: {told.case}, {told.words}")
        measured(told._replace(runs=1))  # loads the compiled code
        found, _, cpu = timed(partial(measured, told))
        samples = np.array([one.samples for one in found])
        mean, error = samples.mean(), samples.std(ddof=1) / np.sqrt(told.runs)
        row = [told.case, told.words, str(told.runs), f"{mean:,.0f} ± {error:,.0f}"]
        row.append(f"{mean / firsts[told.case]:.2f}" if told.case in firsts else "")
        firsts.setdefault(told.case, float(mean))
        wrong = sum(not one.correct for one in found)
        rows.append([*row, str(wrong), f"{digits(1e6 * cpu / samples.sum())} µs"])
    return rows


def gaussian(quick: bool) -> list[Told]:
    """Instances with Gaussian noise, whose variances are known or not."""
    wanted = {"A_eps5": 200, "B": 200, "D": 20}
    found = [] if quick else [case for case in published() if case.name in wanted]
    cases = [(case.name, case.instance, case.m, wanted[case.name]) for case in found]
    runs = 4 if quick else 200
    cases += [(each.name, each.instance(900), each.m, runs) for each in (FAMILIES[4], FAMILIES[7])]
    every = []
    for name, instance, m, count in cases:
        models = ["known", "unknown-equal", "unknown"]
        if np.ptp(instance.noise) > 0.0:
            models.remove("unknown-equal")
        for words in models:
            options = {} if words == "known" else {"assume_noise": words}
            every.append(Told(name, instance, m, count, words, options))
    return every


def rates(quick: bool) -> list[Told]:
    """Rates of 2 to 6 %, and values that vary less around the same means."""
    instance = Instance(Model(np.eye(10), np.inf), RATES, noise=0.5)
    runs = 2 if quick else 20

    def all_told(case: str, source: Environment, *names: str) -> list[Told]:
        every: list[Told] = [Told(case, instance, 3, runs, "1/2", {"environment": source})]
        for name in names:
            options = {"environment": source, "assume_noise": name}
            every.append(Told(case, instance, 3, runs, name, options))
        return every

    few = Bounded(RATES, concentration=10.0)
    return [
        *all_told("0 or 1, 2 to 6 %", Bernoulli(RATES), "bernoulli", "bounded"),
        *all_told("Beta, 2 to 6 %", few, "bounded"),
    ]


def skewed() -> dict[str, Floats]:
    """Standardised noise (n,) by name."""
    every = {
        "normal": stats.norm(),
        "uniform": stats.uniform(),
        "Laplace": stats.laplace(),
        "exponential": stats.expon(),
        "lognormal, sigma 1": stats.lognorm(1.0),
        "lognormal, sigma 2": stats.lognorm(2.0),
    }
    found = {}
    for name, law in every.items():
        values = law.ppf(QUANTILES)
        found[name] = (values - values.mean()) / values.std()
    return found


def answered(
    instance: Instance, runs: int, algorithms: tuple[str, ...], **options: Any
) -> list[str]:
    """For each delta, how many runs came to an answer, and what part of all to a wrong one."""
    cells = []
    for delta in DELTAS:
        found = [
            identify(
                instance,
                1,
                seed=SEED + number,
                delta=delta,
                algorithm=algorithms[number % len(algorithms)],
                **options,
            )
            for number in range(runs)
        ]
        wrong = sum(one.correct is False for one in found)
        cells += [str(sum(one.answer is not None for one in found)), f"{wrong / runs:.1%}"]
    return cells


def wrong_answers(quick: bool) -> list[list[str]]:
    """How often answers are wrong if noise is taken for Gaussian of unknown variance.

    One of two arms is better by a hundredth of the noise; its skewness is to the right, that of the
    other to the left, so that few values mislead.
    """
    rows, runs = [], 5 if quick else 1000
    for name, noise in skewed().items():
        source = Table(np.stack([GAP + noise, -noise], axis=1))
        told = {"max_samples": BUDGET, "environment": source, "assume_noise": "unknown"}
        instance = Instance(Model(np.eye(2), np.inf), source.means, source.noise)
        rows.append([name, str(runs), *answered(instance, runs, ("mislid", "uniform"), **told)])
        progress(f"noise: {name}")
    return rows


def unequal(quick: bool) -> list[list[str]]:
    """How often answers are wrong if unequal noise is taken for equal.

    One of two arms is better by little; ten others, which are far behind, have less noise and are
    measured as often.
    """
    rows, runs = [], 5 if quick else 400
    for quiet in QUIET:
        means, noise = [QUIET_GAP, 0.0, *[-2.0] * 10], [1.0, 1.0, *[quiet] * 10]
        told = {"max_samples": QUIET_BUDGET, "assume_noise": "unknown-equal"}
        instance = Instance(Model(np.eye(12), np.inf), means, noise=noise)
        rows.append([f"{quiet:g}", str(runs), *answered(instance, runs, ("uniform",), **told)])
        progress(f"noise: not equal, {quiet:g}")
    return rows


def run(quick: bool) -> Tables:
    """All tables."""
    columns = [f"{word}, delta {delta}" for delta in DELTAS for word in ("answers", "wrong")]
    return {
        "noise": (HEADER, compared([*gaussian(quick), *rates(quick)])),
        "noise-shape": (("noise", "runs", *columns), wrong_answers(quick)),
        "noise-unequal": (("noise of ten arms", "runs", *columns), unequal(quick)),
    }
