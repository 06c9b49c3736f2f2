"""Published tables as data: the instances are as described, the settings as published."""

from dataclasses import replace

import numpy as np
import pytest

from mislid.algorithms import LinGapE, MisLid, Selective
from mislid.geometry.time import characteristic_time
from mislid.paper.experiments.report import report_text, summary_table
from mislid.paper.experiments.runner import Outcome, Result, find_instances
from mislid.paper.experiments.suites import ELIMINATION, RACES, FewBasisArms
from mislid.simulation.replicate import Row, replicate_settings


@pytest.mark.parametrize("seed", [0, 1])
def test_instances_are_drawn_as_published(seed: int) -> None:
    instance = FewBasisArms().draw(seed, 0.0)
    features, means = instance.model.features, np.array(instance.means)
    assert features.shape == (50, 20)
    assert np.allclose(np.linalg.norm(features, axis=1), 1.0)
    assert np.array_equal(features[:10], np.eye(20)[:10])
    assert means[:10].round(6).tolist() == [1.0] + [0.9] * 4 + [0.8] * 5
    assert means[10:].max() <= 0.5
    theta = np.linalg.lstsq(features, means, rcond=None)[0]
    assert np.all((theta[10:] <= 0.0) & (theta[10:] >= -1.0))
    assert np.allclose(instance.noise, 1.0)


def test_the_draw_hardly_matters() -> None:
    """What the comparison with runs on another draw rests on."""
    times = [
        [characteristic_time(one.model, one.means, m).value for m in (1, 5)]
        for one in (FewBasisArms().draw(seed, 0.0) for seed in range(3))
    ]
    assert np.ptp(times, axis=0).max() < 0.01 * np.min(times)


def frank_wolfe_time(features: np.ndarray, means: np.ndarray, m: int, steps: int) -> float:
    """1 / (least cost of a pair) at the mean of so many arms, each the best answer to the last."""
    theta = np.linalg.lstsq(features, means)[0]
    order = np.argsort(-means, kind="stable")
    apart = features[order[:m], None] - features[None, order[m:]]
    apart = apart.reshape(-1, theta.size)
    gaps = apart @ theta

    def closest(weights: np.ndarray) -> tuple[float, np.ndarray]:
        inverse = np.linalg.inv(features.T @ (weights[:, None] * features))
        variances = np.einsum("pa,ab,pb->p", apart, inverse, apart)
        costs = gaps**2 / (2.0 * variances)
        pair = int(costs.argmin())
        return costs[pair], inverse @ apart[pair]

    weights = np.full(len(means), 1.0 / len(means))
    for step in range(steps):
        _, direction = closest(weights)
        weights *= 1.0 - 1.0 / (step + 2)
        weights[np.argmax((features @ direction) ** 2)] += 1.0 / (step + 2)
    return float(1.0 / closest(weights)[0])


@pytest.mark.parametrize(
    ("m", "excess", "published"), [(1, 0.10, (2304, 2325)), (5, 0.005, (3685, 3720))]
)
def test_published_times_are_those_of_frank_wolfe(
    m: int, excess: float, published: tuple[float, float]
) -> None:
    """It stalls where several alternatives are equally close; ours is proved from both sides."""
    instance = FewBasisArms().draw(0, 0.0)
    time = characteristic_time(instance.model, instance.means, m)
    stalled = frank_wolfe_time(instance.model.features, instance.means, m, 6_000)
    assert published[0] < stalled < published[1]
    assert stalled > (1.0 + 0.9 * excess) * time.upper
    assert time.check()


def test_rows_have_the_settings_of_the_table() -> None:
    assert (ELIMINATION.delta, ELIMINATION.runs) == (0.01, 100)
    best, top = ELIMINATION.cases
    assert (best.m, top.m) == (1, 5)
    for case in (best, top):
        for method in case.methods:
            selective = isinstance(method.algorithm, Selective)
            assert not selective or method.stopping == "glr-selective"
            rule = method.algorithm.algorithm if selective else method.algorithm
            assert not isinstance(rule, LinGapE) or rule.growth == 2.0
            assert not isinstance(rule, MisLid) or (rule.learner.gap, rule.every_arm) == (
                0.01,
                True,
            )
    reported = {m.label: m.reported.mean for m in best.methods if m.reported is not None}
    assert reported["LinGapE, selective, glr-selective"] == 29_890.0
    assert len(reported) == 16
    assert RACES["peps"].racers[0].published == (7326, 14188, 22518)


def test_a_verdict_and_a_sentence_for_every_number(tmp_path) -> None:
    case = ELIMINATION.cases[0]
    instances, exact = find_instances(ELIMINATION, 0, tmp_path / "nothing")
    assert exact
    rows = [Row(run, 33_000 + 100 * run, True, "stopped", 1.0) for run in range(20)]
    outcomes = [
        Outcome(
            case,
            method,
            instances[case.name],
            rows,
            replicate_settings(instances[case.name], 1, runs=20, **method.options(0.01)),
        )
        for method in case.methods
    ]
    experiment = replace(ELIMINATION, cases=(case,))
    result = Result(experiment, tmp_path, 0, exact, outcomes, {})
    lines = [" ".join(line.split()) for line in summary_table([result]).splitlines()]
    assert "| best-arm | LinGapE, glr | 20 | 33,950 ± 132 | 33,190 ± 870 | +2.3%" in lines[2]
    assert lines[2].endswith("| agrees |")
    text = report_text(result)
    assert "drawn by the published recipe" in text
    assert "RAGE (best-arm): 33,950 samples against 106,870 published" in text
    assert text.count("**differs**") >= 1
