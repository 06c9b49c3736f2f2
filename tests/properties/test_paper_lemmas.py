"""The paper's statements on geometry: those that hold as properties, the others by counter-example.

docs/geometry.md lists them with proofs. Counter-examples are in exact rational arithmetic.
"""

import itertools
from fractions import Fraction as F

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from mislid.geometry.projection import least_squares
from mislid.geometry.spanner import spanner_coordinates
from mislid.geometry.tube import chebyshev_deviation, smallest_misspecification
from mislid.model import Model
from oracles.pair_qp import pair_cost_exact, project_brute

examples = settings(max_examples=100, deadline=None)
slow_examples = settings(max_examples=40, deadline=None)


def vector(*entries):
    return np.array([F(x) for x in entries], dtype=object)


def integers(shape, low, high):
    return arrays(np.int64, shape, elements=st.integers(low, high))


@st.composite
def designs(draw, largest=6):
    """Features (K, d) of full rank and positive weights (K,) over eight orders of magnitude."""
    K = draw(st.integers(2, largest))
    d = draw(st.integers(1, min(K, 3)))
    features = draw(integers((K, d), -4, 4)).astype(float)
    assume(np.linalg.matrix_rank(features) == d)
    weights = 10.0 ** draw(integers(K, -4, 4)) * draw(integers(K, 1, 9))
    return features, weights


@st.composite
def truths(draw, design=None):
    """A design with means = A theta + eta, |eta| <= misspecification."""
    features, weights = draw(designs()) if design is None else design
    K, d = features.shape
    theta = draw(integers(d, -5, 5)) / 2.0
    misspecification = draw(st.sampled_from([0.25, 1.0, 3.0]))
    eta = misspecification * draw(integers(K, -4, 4)) / 4.0
    return features, weights, theta, eta, misspecification


@st.composite
def observed(draw):
    """A truth and empirical means (K,) around it."""
    truth = draw(truths())
    features, _, theta, eta, _ = truth
    noise = draw(integers(features.shape[0], -12, 12)) / 3.0
    return *truth, features @ theta + eta + noise


def gram(features, weights):
    return features.T @ (weights[:, None] * features)


def squared(values, weights):
    return float(np.sum(weights * np.square(values)))


def split(features, means, weights):
    """theta_t (d,) and R D^(1/2) means (K,)."""
    theta = least_squares(Model(features, 0.0), means, weights)
    return theta, np.sqrt(weights) * (means - features @ theta)


def close(left, right, scale, tolerance=1e-10):
    assert abs(left - right) <= tolerance * scale


def at_most(left, right, scale, tolerance=1e-9):
    assert left <= right + tolerance * scale


class TestLemma1AlternativesArePairs:
    @given(st.data())
    @settings(max_examples=300, deadline=None)
    def test_holds_for_sets_that_no_other_arm_beats(self, data):
        K = data.draw(st.integers(2, 6))
        m = data.draw(st.integers(1, K - 1))
        means, other = data.draw(integers(K, 0, 6)), data.draw(integers(K, 0, 3))
        answers = best_sets(means, m)
        assume(len(answers) == 1)
        (top,) = answers
        rest = set(range(K)) - top
        assert (not best_sets(other, m) & answers) == beaten(other, rest, top)

    def test_fails_for_the_printed_sets(self):
        # {1, 2} is among the printed best pairs of (3, 1, 1), although arm 0 beats both.
        means, other, m = np.array([0, 2, 1]), np.array([3, 1, 1]), 2
        assert printed_best_sets(means, m) == {frozenset({1, 2})}
        assert beaten(other, {0}, {1, 2})
        assert printed_best_sets(other, m) & printed_best_sets(means, m)


def printed_best_sets(means, m):
    """S_m(means) of Section 2: every m arms out of those at or above the m-th largest mean."""
    eligible = np.flatnonzero(means >= np.sort(means)[-m])
    return {frozenset(arms) for arms in itertools.combinations(eligible.tolist(), m)}


def best_sets(means, m):
    """Every m arms such that no other arm has a larger mean than one of them."""
    everything = set(range(len(means)))
    return {
        arms for arms in printed_best_sets(means, m) if not beaten(means, everything - arms, arms)
    }


def beaten(means, challengers, incumbents):
    return any(means[i] > means[j] for i in challengers for j in incumbents)


class TestLemma2BeyondWhichStructureIsWorthNothing:
    def test_printed_threshold_is_too_small(self):
        features, means, misspecification = vector(3, 1), vector(6, 5), F(5, 2)
        assert misspecification > max(means) - min(means)
        assert max(abs(means - features * F(5, 2))) <= misspecification
        # One alternative, the middle of the means, bounds the unstructured value from above.
        unstructured = max(np.square(means - F(11, 2))) / 2
        # Equal weights and a dual point (z, alpha) bound the value over the model from below.
        z, alpha, weights = vector(F(-1, 4), F(3, 4)), F(3, 4), vector(F(1, 2), F(1, 2))
        assert z @ features == 0
        v = z + alpha * vector(1, -1)
        bound = (v @ means - misspecification * sum(abs(z))) ** 2 / (2 * sum(v * v / weights))
        assert (bound, unstructured) == (F(1, 4), F(1, 8))

    @given(truths(), st.data())
    @examples
    def test_half_the_range_is_enough_where_constants_are_linear(self, truth, data):
        features, weights, theta, eta, _ = truth
        features = np.column_stack([features, np.ones(len(features))])
        means = features[:, :-1] @ theta + eta
        i, j = data.draw(pairs(means))
        nearest = unstructured_alternative(means, weights, i, j)
        found = smallest_misspecification(features, nearest)
        at_most(found, np.ptp(means) / 2, 1 + np.max(np.abs(means)))

    @given(truths(), st.data())
    @slow_examples
    def test_the_cost_of_a_pair_is_unstructured_from_there_on(self, truth, data):
        features, weights, theta, eta, _ = truth
        means = features @ theta + eta
        width = smallest_misspecification(features, means) + np.ptp(means)
        i, j = data.draw(pairs(means))
        found = pair_cost_exact(features, width * (1 + 1e-9), means, weights, i, j)
        nearest = unstructured_alternative(means, weights, i, j)
        assert_allclose(found.upper, squared(nearest - means, weights) / 2, rtol=1e-6)


@st.composite
def pairs(draw, means):
    """A challenger i and an incumbent j with a larger mean."""
    ordered = [
        (i, j) for i, j in itertools.permutations(range(len(means)), 2) if means[i] < means[j]
    ]
    assume(ordered)
    return draw(st.sampled_from(ordered))


def unstructured_alternative(means, weights, i, j):
    nearest = means.copy()
    nearest[[i, j]] = np.average(means[[i, j]], weights=weights[[i, j]])
    return nearest


class TestDecomposition:
    @given(truths(), st.data())
    @examples
    def test_distances_split_for_orthogonal_parameters(self, truth, data):
        features, weights, theta, eta, _ = truth
        means = features @ theta + eta
        for _ in range(2):
            other = data.draw(integers(len(means), -9, 9)) / 2.0
            linear, residual = split(features, means, weights)
            linear_other, residual_other = split(features, other, weights)
            difference = linear_other - linear
            parts = difference @ gram(features, weights) @ difference
            parts += np.sum(np.square(residual_other - residual))
            whole = squared(other - means, weights)
            close(parts, whole, squared(means, weights) + squared(other, weights))

    def test_fails_for_other_parameters_of_the_same_means(self):
        # The proof of the projected estimator's inequalities uses it for all of them.
        features, weights, observed_means = vector(1, 1), vector(1, 1), vector(1, 1)
        theta, eta = F(0), vector(1, 1)
        printed = distance_of_linear_parts(features, weights, theta, F(1))
        printed += residual_distance(features, weights, eta, observed_means)
        exact = sum(weights * np.square(features * theta + eta - observed_means))
        assert (exact, printed) == (0, 2)

    def test_the_first_line_of_the_printed_proof_has_the_weights_where_their_roots_belong(self):
        weights, difference = vector(2, 2), vector(1, 1)
        # P + R = I, so the printed |P D x + R D x|_2^2 is |D x|_2^2.
        assert sum(np.square(weights * difference)) == 8
        assert sum(weights * np.square(difference)) == 4


def distance_of_linear_parts(features, weights, one, other):
    """|one - other|_V^2 for d = 1, exactly."""
    return sum(weights * features * features) * (one - other) ** 2


def residual_distance(features, weights, one, other):
    """|R D^(1/2) (one - other)|_2^2 for d = 1, exactly."""
    x = one - other
    return sum(weights * x * x) - sum(weights * features * x) ** 2 / sum(weights * features**2)


class TestLinearPartsOfTwoParametrizations:
    @given(truths())
    @examples
    def test_differ_by_at_most_the_root_of_t_times_the_misspecification(self, truth):
        features, weights, theta, eta, misspecification = truth
        means = features @ theta + eta
        difference = split(features, means, weights)[0] - theta
        distance = np.sqrt(difference @ gram(features, weights) @ difference)
        bound = np.sqrt(np.sum(weights)) * misspecification
        at_most(distance, bound, np.sqrt(squared(means, weights)) + bound)


class TestMaximumDeviation:
    def test_fails_as_printed(self):
        features, weights, eta = vector(1, F(1, 10)), vector(1, 1000), vector(-1, 1)
        V = sum(weights * features**2)
        deviation = eta - features * sum(weights * features * eta) / V
        K, longest = 2, max(abs(features))
        assert (max(abs(deviation)), longest * K + 1) == (10, 3)
        # Step (c) of the printed proof: N_j |phi_j|_{V^-2} <= 1.
        assert weights[1] * abs(features[1]) / V == F(100, 11)
        # The same arms in another unit have the same deviation and a bound that holds.
        assert max(abs(deviation)) <= max(abs(10 * features)) * K + 1

    @given(truths())
    @examples
    def test_root_of_t_times_the_leverage(self, truth):
        features, weights, theta, eta, misspecification = truth
        change = change_of_deviation(features, weights, theta, eta)
        V = gram(features, weights)
        leverage = np.einsum("kd,kd->k", features, np.linalg.solve(V, features.T).T)
        bound = misspecification * np.sqrt(np.sum(weights) * leverage)
        assert np.all(change <= bound + 1e-8 * (1 + misspecification))

    @given(truths())
    @examples
    def test_operator_norm_is_exact(self, truth):
        features, weights, theta, eta, misspecification = truth
        rows = smoother(features, weights)
        bound = misspecification * np.max(np.sum(np.abs(rows), axis=1))
        at_most(np.max(change_of_deviation(features, weights, theta, eta)), bound, 1 + bound, 1e-8)
        worst = misspecification * np.sign(rows[np.argmax(np.sum(np.abs(rows), axis=1))])
        attained = np.max(change_of_deviation(features, weights, theta, worst))
        close(attained, bound, 1 + bound, 1e-8)

    @given(truths())
    @examples
    def test_largest_basis_bounds_it_for_all_weights(self, truth):
        features, weights, theta, eta, misspecification = truth
        bound = misspecification * largest_basis_norm(features)[0]
        at_most(np.max(change_of_deviation(features, weights, theta, eta)), bound, 1 + bound, 1e-8)
        means = features @ theta + eta
        deviation = means - features @ least_squares(Model(features, 0.0), means, weights)
        at_most(np.max(np.abs(deviation)), bound + misspecification, 1 + bound, 1e-8)

    @given(designs())
    @examples
    def test_no_smaller_number_does(self, design):
        features, _ = design
        norm, arms = largest_basis_norm(features)
        weights = np.full(len(features), 1e-14)
        weights[list(arms)] = 1.0
        attained = np.max(np.sum(np.abs(smoother(features, weights)), axis=1))
        close(attained, norm, norm, 1e-4)

    @given(truths())
    @examples
    def test_after_one_pass_over_a_spanner_it_is_at_most_d_times_the_misspecification(self, truth):
        features, _, theta, eta, misspecification = truth
        arms, _ = spanner_coordinates(features)
        weights = np.zeros(len(features))
        weights[arms] = 1.0
        change = change_of_deviation(features, weights, theta, eta)
        at_most(np.max(change), len(theta) * misspecification, 1 + misspecification)


def change_of_deviation(features, weights, theta, eta):
    """|eta_t - eta| arm by arm."""
    means = features @ theta + eta
    return np.abs(means - features @ least_squares(Model(features, 0.0), means, weights) - eta)


def smoother(features, weights):
    """A V^-1 A' D (K, K), one column per unit deviation."""
    return np.column_stack(
        [
            features @ least_squares(Model(features, 0.0), unit, weights)
            for unit in np.eye(len(features))
        ]
    )


def bases(features):
    K, d = features.shape
    for arms in itertools.combinations(range(K), d):
        if abs(np.linalg.det(features[list(arms)])) > 1e-9:
            yield arms


def largest_basis_norm(features):
    """The largest |phi_k' A_B^-1|_1 over arms k and bases B, and a basis that attains it."""
    return max(
        (np.max(np.sum(np.abs(np.linalg.solve(features[list(arms)].T, features.T)), axis=0)), arms)
        for arms in bases(features)
    )


class TestProjectedEstimator:
    @given(observed())
    @slow_examples
    def test_all_five_hold_for_the_orthogonal_part_without_a_bound_on_the_means(self, case):
        features, weights, theta, eta, misspecification, empirical = case
        means = features @ theta + eta
        projected = project_brute(features, misspecification, empirical, weights).means
        scale = squared(means, weights) + squared(empirical, weights)
        at_most(squared(projected - means, weights), squared(empirical - means, weights), scale)
        linear, residual = split(features, projected, weights)
        fitted, residual_empirical = split(features, empirical, weights)
        V = gram(features, weights)
        difference = linear - fitted
        close(difference @ V @ difference, 0.0, scale, 1e-12)
        # R D^(1/2) A = 0: the residuals of eta, eta_t and the means are one vector.
        truth = split(features, means, weights)[1]
        at_most(
            np.sum(np.square(residual - truth)),
            np.sum(np.square(residual_empirical - truth)),
            scale,
        )

    def test_second_and_fourth_fail_for_the_joint_minimiser(self):
        features, weights, misspecification = vector(1, 1, 1), vector(1, 1, 1), F(1)
        means, empirical = vector(0, 0, 0), vector(-2, -2, 4)
        theta_tilde, eta_tilde = F(1, 3), vector(-1, -1, 1)
        projected = features * theta_tilde + eta_tilde
        multipliers = weights * (empirical - projected)
        assert max(abs(eta_tilde)) == misspecification
        assert sum(features * multipliers) == 0
        assert all(multipliers * eta_tilde > 0)
        least_squares, truth = F(0), F(0)
        assert sum(weights * features * (empirical - features * least_squares)) == 0
        left = distance_of_linear_parts(features, weights, theta_tilde, truth)
        right = distance_of_linear_parts(features, weights, least_squares, truth)
        assert (left, right) == (F(1, 3), 0)
        assert max(abs(means - features * truth)) <= misspecification

    def test_second_and_fourth_fail_for_every_reading_once_means_are_bounded(self):
        features, weights, misspecification, largest = vector(1, 1), vector(1, 1), F(1), F(1)
        means, empirical, projected = vector(1, 1), vector(3, -1), vector(1, -1)
        # The gradient is a multiplier of the wall at `largest`, so this is the projection.
        assert ((empirical - projected) == vector(2, 0)).all()
        assert projected[0] == largest
        # |projected - theta| <= 1 leaves theta = 0 only, and that is its orthogonal part as well.
        assert max(projected) - misspecification == min(projected) + misspecification == 0
        assert sum(projected) == 0
        theta_tilde, least_squares, truth = F(0), F(1), F(1)
        left = distance_of_linear_parts(features, weights, theta_tilde, truth)
        right = distance_of_linear_parts(features, weights, least_squares, truth)
        assert (left, right) == (2, 0)
        assert max(abs(means - features * truth)) == 0

    def test_third_and_fifth_fail_for_every_reading_once_means_are_bounded(self):
        features, weights, misspecification, largest = vector(1, 1), vector(1, 1), F(1, 2), F(1)
        means, empirical, projected = vector(1, 0), vector(2, 1), vector(1, 1)
        assert ((empirical - projected) == vector(1, 0)).all()
        assert projected[0] == largest
        assert max(abs(means - features * F(1, 2))) <= misspecification
        left = residual_distance(features, weights, projected, means)
        right = residual_distance(features, weights, empirical, means)
        assert (left, right) == (F(1, 2), 0)

    @given(observed())
    @slow_examples
    def test_joint_minimiser_loses_at_most_the_root_of_t_times_the_misspecification(self, case):
        features, weights, theta, _, misspecification, empirical = case
        projected = project_brute(features, misspecification, empirical, weights).means
        inside = chebyshev_deviation(features, projected)[1]
        fitted = split(features, empirical, weights)[0]
        V = gram(features, weights)
        scale = np.sqrt(squared(empirical, weights)) + np.sqrt(theta @ V @ theta)
        slack = np.sqrt(np.sum(weights)) * misspecification
        at_most(norm(inside - fitted, V), slack, scale + slack, 1e-6)
        at_most(norm(inside - theta, V), norm(fitted - theta, V) + slack, scale + slack, 1e-6)


def norm(x, V):
    return float(np.sqrt(max(x @ V @ x, 0.0)))


class TestClosestAlternativeFormulas:
    def test_the_printed_quadratic_program_lacks_a_half(self):
        # Over lambda = A theta + eta its objective reads lambda'D lambda - lambda'D mu.
        means, weights = vector(2, 2), vector(1, 1)

        def printed(model, half=F(1)):
            return half * sum(weights * model * model) - sum(weights * model * means)

        assert printed(means / 2) < printed(means)
        assert printed(means, F(1, 2)) < printed(means / 2, F(1, 2))

    def test_the_case_without_multiplier_has_a_transpose_too_many(self):
        # K = d and D = I, the only case where A'(A'DA)^-1 A'D makes sense: A theta must be mu.
        A, inverse = np.array([[1, 1], [0, 1]]), np.array([[1, -1], [0, 1]])
        means = np.array([1, 2])
        gram_inverse = inverse @ inverse.T
        assert (gram_inverse @ (A.T @ A) == np.eye(2)).all()
        assert (A @ gram_inverse @ A.T @ means == means).all()
        assert (A.T @ gram_inverse @ A.T @ means != means).any()


class TestNormOfTheLinearPart:
    @given(truths())
    @examples
    def test_holds_for_every_allocation(self, truth):
        features, weights, theta, eta, misspecification = truth
        allocation = weights / np.sum(weights)
        smallest = np.linalg.svd(np.sqrt(allocation)[:, None] * features, compute_uv=False)[-1]
        largest = np.max(np.abs(features @ theta + eta))
        assert smallest * np.linalg.norm(theta) <= (largest + misspecification) * (1 + 1e-9)
