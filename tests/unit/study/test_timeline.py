"""Intervals, and the evidence of pairs over time against the study's own decision."""

import math

import numpy as np
import pytest

from helpers.report_studies import MEANS, decided_study, measuring, new_study
from mislid import pair_alternative
from mislid.geometry.duality import all_pairs
from mislid.rules.stopping import STOPPING_RULES
from mislid.rules.thresholds import deviation_constant, pairwise_threshold
from mislid.study import Study
from mislid.study.overview import Overview
from mislid.study.timeline import BY_TWO_ARMS, DRAWN, Rule, history


def test_half_widths_are_those_of_the_deviation_inequality() -> None:
    study = new_study(candidates=["x", "y", "z"], noise=[0.1, 2.0, 1.0], delta=0.01)
    study.add_observations([("x", 0.0)] * 9 + [("y", 1.0)])
    widths = study.overview().half_widths
    for width, n, noise in ((widths[0], 9, 0.1), (widths[1], 1, 2.0)):
        evidence = 2 * math.log(4 + math.log(n)) + deviation_constant(math.log(100))
        assert n * width**2 / (2 * noise**2) == pytest.approx(evidence, rel=1e-12)
    assert math.isinf(widths[2])


def test_intervals_cover_at_all_times_at_once() -> None:
    """One-sided binomial test at 1e-4; half as wide they must be caught."""
    from scipy.stats import binomtest

    rng = np.random.default_rng(3)
    delta, runs, most = 0.1, 400, 300
    noise = rng.standard_normal((runs, most)).cumsum(axis=1)
    n = np.arange(1, most + 1)
    study = new_study(candidates=["x", "y"], noise=1.0, delta=delta)
    study.add_observations([("x", 0.0)] * most)
    assert study.overview().counts[0] == most
    level = deviation_constant(-math.log(delta))
    width = np.sqrt(2 * (2 * np.log(4 + np.log(n)) + level) / n)
    np.testing.assert_allclose(study.overview().half_widths[0], width[-1], rtol=1e-12)
    worst = np.max(np.abs(noise / n) / width, axis=1)
    assert binomtest(int(np.sum(worst > 1.0)), runs, delta, "greater").pvalue > 1e-4
    assert binomtest(int(np.sum(worst > 0.5)), runs, delta, "greater").pvalue < 1e-4


@pytest.mark.parametrize("stopping", STOPPING_RULES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_all_pairs_reach_the_threshold_when_the_study_decides(stopping: str, sign: float) -> None:
    study = decided_study(
        sign, m=2, stopping=stopping, direction="maximize" if sign > 0 else "minimize"
    )
    overview = study.overview()
    decision = overview.decision
    assert decision is not None
    rule = Rule(overview)
    pairs = all_pairs(overview.K, np.sort(np.array(decision.answer)))
    evidence = rule.evidence([decision.samples - 1, decision.samples], pairs)
    before, after = evidence.shares.min(axis=1)
    assert before < 1.0 <= after
    p = pairs.tolist().index(list(decision.pair))
    by_either = zip(evidence.statistics[:, 1, p], evidence.thresholds[:, 1, p], strict=True)
    recorded = (decision.statistic, decision.threshold)
    assert any(np.allclose(one, recorded, rtol=1e-8) for one in by_either)


def test_statistics_and_thresholds_of_both_proofs(running_overview: Overview) -> None:
    overview = running_overview
    seen = overview.history
    assert seen is not None
    assert overview.now is not None
    weights, means = overview.counts, overview.means
    model = overview.candidates.model(0.1)
    for p, (i, j) in enumerate(seen.closest.pairs.tolist()):
        nearest = pair_alternative(model, means, weights, i, j)
        np.testing.assert_allclose(seen.closest.statistics[0, -1, p], nearest.cost, rtol=1e-8)
        alone = max(means[j] - means[i], 0) ** 2 / (2 / weights[i] + 2 / weights[j])
        np.testing.assert_allclose(seen.closest.statistics[1, -1, p], alone, rtol=1e-12)
        needed = pairwise_threshold(overview.counts[i], overview.counts[j], 5, 2, 0.025)
        np.testing.assert_allclose(seen.closest.thresholds[1, -1, p], needed, rtol=1e-12)
    assert np.all(seen.closest.thresholds[0, -1] == overview.now.threshold)


def test_an_earlier_look_leaves_nothing_behind(running: Study) -> None:
    overview = running.overview()
    pairs = all_pairs(overview.K, np.array([0, 1]))
    rule = Rule(overview)
    first = rule.evidence([30, 10, 20, 30], pairs)
    for n, samples in enumerate((30, 10, 20, 30)):
        alone = Rule(overview).evidence([samples], pairs)
        np.testing.assert_allclose(first.statistics[:, n], alone.statistics[:, 0], rtol=1e-9)
        np.testing.assert_allclose(first.thresholds[:, n], alone.thresholds[:, 0], rtol=1e-9)


def test_the_history_has_every_pair_once_and_the_closest_first() -> None:
    study = new_study(candidates={k: [1.0, k, k * k] for k in range(12)}, m=3, noise=30.0)
    means = {k: 0.1 * k for k in range(12)}
    study.optimize(measuring(means, 30.0), n_trials=200)
    overview = study.overview()
    seen = overview.history
    assert seen is not None
    pairs = [*seen.closest.pairs.tolist(), *seen.others.pairs.tolist()]
    assert sorted(pairs) == all_pairs(12, np.sort(np.array(overview.leaders))).tolist()
    now = np.concatenate([seen.closest.shares[-1], seen.others.shares[-1]])
    assert np.all(np.diff(now) >= 0.0)
    assert seen.share == now[0]
    assert seen.closest.times[[0, -1]].tolist() == [12.0, 200.0]
    assert len(seen.closest.times) <= 60


def test_the_history_of_an_answer_ends_with_its_decision() -> None:
    study = decided_study()
    study.add_observations([("a", 50.0)] * 500)
    overview = study.overview()
    seen, decision = overview.history, overview.decision
    assert seen is not None
    assert decision is not None
    assert seen.closest.times[-1] == seen.others.times[-1] == decision.samples
    np.testing.assert_allclose(seen.share, decision.statistic / decision.threshold, rtol=1e-8)
    assert seen.answer == decision.answer != overview.best_now


def test_many_pairs_leave_out_the_far_ones() -> None:
    study = new_study(candidates=list(range(102)), m=50, noise=1.0)
    study.add_observations([(k, float(k)) for k in range(102)])
    seen = study.overview().history
    assert seen is not None
    assert len(seen.closest.pairs) + len(seen.others.pairs) == DRAWN
    assert seen.undrawn == 50 * 52 - DRAWN
    assert seen.closest.pairs[0].tolist() == [51, 52]


def test_there_is_no_history_before_the_first_round() -> None:
    study = new_study()
    assert history(Rule(study.overview()), ()) is None
    study.add_observations([("a", MEANS["a"])])
    overview = study.overview()
    assert (overview.history, overview.now, overview.best_now) == (None, None, ())


def test_without_features_two_arms_are_all_there_is() -> None:
    study = new_study(candidates=list(MEANS), stopping="pairwise")
    study.optimize(measuring(MEANS), n_trials=5_000)
    seen = study.overview().history
    assert seen is not None
    name, statistics, thresholds = seen.closest.of_pair(0)
    assert name == BY_TWO_ARMS
    assert statistics[-1] >= thresholds[-1]
