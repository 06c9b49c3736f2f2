"""General QP solvers on one pair problem, each as fast as we could make it.

A peer is given every advantage. Outside the timer the data are scaled and centred at weighted least
squares, the solver does its own setup (scaling, symbolic analysis, first factorisation), and the
variant and the tolerance that reach the accuracy fastest are chosen for the very problem.
`Peer.seconds` is the smaller of the wall time of the solve and the time the solver reports for it,
so Python's overhead is not charged. `Peer.setup_seconds` is the solver's own setup for new data.

Accuracy: |cost - reference| <= 1e-7 reference, for the cost at the point the solver returns.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import clarabel
import daqp
import numpy as np
import osqp
import piqp
import quadprog
from numpy.typing import NDArray
from scipy import sparse

from .cases import Case

Floats = NDArray[np.float64]
ACCURACY = 1e-7
FREE = 1e30
RIDGE = 1e-6


@dataclass(frozen=True)
class Scaled:
    """A case in units of its largest mean and weight, features orthonormal (times sqrt(K / d)).

    theta is measured from weighted least squares, which fits `fitted` (K,) and leaves `residual`
    (K,). The costs of the scaled problem times `unit` are those of the case.
    """

    features: Floats
    weights: Floats
    residual: Floats
    fitted: Floats
    eps: float
    tolerance: float
    pair: tuple[int, int]
    unit: float

    @classmethod
    def of(cls, case: Case) -> Scaled:
        arms, dimension = case.features.shape
        features = np.linalg.qr(case.features)[0] * np.sqrt(arms / dimension)
        top, size = float(case.weights.max()), float(np.abs(case.means).max())
        weights, means = case.weights / top, case.means / size
        information = features.T @ (weights[:, None] * features)
        fitted = features @ np.linalg.solve(information, features.T @ (weights * means))
        return cls(
            features,
            weights,
            means - fitted,
            fitted,
            case.misspecification / size,
            case.tolerance / size,
            (case.challenger, case.incumbent),
            size * size * top,
        )


class Tube:
    """x = (t, r): theta's displacement, r = lambda - mu; a diagonal Hessian and K two-sided rows.

    minimise 1/2 sum_k w_k r_k^2 with -eps <= residual_k + r_k - phi_k't <= eps and the half-space.
    With unit=True rows and r are multiplied by sqrt(w), which makes the Hessian 0 and the identity.
    """

    def __init__(self, scaled: Scaled, *, unit: bool) -> None:
        arms, self.dimension = scaled.features.shape
        root = np.sqrt(scaled.weights) if unit else np.ones(arms)
        self.curvature = scaled.weights / root**2
        self.hessian = np.concatenate([np.zeros(self.dimension), self.curvature])
        self.linear = np.zeros(arms + self.dimension)
        i, j = scaled.pair
        half_space = np.zeros(arms + self.dimension)
        half_space[self.dimension + i], half_space[self.dimension + j] = 1 / root[i], -1 / root[j]
        tube = np.hstack([-root[:, None] * scaled.features, np.eye(arms)])
        self.rows = np.vstack([tube, half_space])
        means = scaled.fitted + scaled.residual
        gap = means[j] - means[i] + scaled.tolerance
        self.low = np.append(root * (-scaled.eps - scaled.residual), gap)
        self.high = np.append(root * (scaled.eps - scaled.residual), np.inf)
        self.unit = scaled.unit

    def slack_rows(self) -> tuple[sparse.csc_matrix, Floats, Floats]:
        """Equalities rows x - s = 0 (K, K + d + K), Hessian and half-space padded for s (K,)."""
        none = np.zeros(len(self.curvature))
        equalities = sparse.hstack([self.rows[:-1], -sparse.eye(len(none))], format="csc")
        padded = np.concatenate([self.hessian, none])
        return equalities, padded, np.concatenate([self.rows[-1], none])

    def cost(self, x: Any) -> float:
        moved = np.asarray(x)[self.dimension : self.dimension + len(self.curvature)]
        return float(self.unit * (self.curvature @ moved**2) / 2)


class Box:
    """x = (t, eta): lambda = fitted + A t + eta; a full Hessian, bounds on eta and one row."""

    def __init__(self, scaled: Scaled) -> None:
        arms, dimension = scaled.features.shape
        self.scaled = scaled
        self.map = np.hstack([scaled.features, np.eye(arms)])
        self.hessian = self.map.T @ (scaled.weights[:, None] * self.map)
        self.linear = -self.map.T @ (scaled.weights * scaled.residual)
        i, j = scaled.pair
        self.half_space = self.map[i] - self.map[j]
        self.gap = scaled.fitted[j] - scaled.fitted[i] + scaled.tolerance
        self.bound = np.concatenate([np.full(dimension, np.inf), np.full(arms, scaled.eps)])

    def cost(self, x: Any) -> float:
        away = self.map @ np.asarray(x) - self.scaled.residual
        return float(self.scaled.unit * (self.scaled.weights @ away**2) / 2)


class Peer(ABC):
    """A solver on one pair problem: `setup` outside, `solve` inside the timer."""

    name: ClassVar[str]
    variants: ClassVar[tuple[Any, ...]] = (None,)
    # From loose to tight; a solver that is exact whenever it ends has one.
    tolerances: ClassVar[tuple[float, ...]] = (1e-9,)
    variant: Any
    solver_tolerance: float
    reported_seconds: float | None
    wall_seconds: float
    setup_seconds: float = 0.0
    # Setup and solve together, by the variant that is fastest at that: not always the chosen one.
    whole_seconds: float = float("inf")
    # Of the last solve, relative to the reference: whoever times a solve should look at it.
    error: float

    def setup(self, case: Case, reference: float) -> bool:
        """Prepare what reaches ACCURACY of reference fastest; False if nothing does."""
        scaled = Scaled.of(case)
        self._reference = reference
        fastest = (float("inf"), self.variants[0], self.tolerances[-1])
        for variant in self.variants:
            for tolerance in self.tolerances:
                self._choose(scaled, variant, tolerance)
                seconds = self._best_of_three()
                if seconds is not None:
                    fastest = min(fastest, (seconds, variant, tolerance))
                    self.whole_seconds = min(self.whole_seconds, seconds + self.setup_seconds)
                    break
        self._choose(scaled, *fastest[1:])
        return fastest[0] < float("inf")

    def _choose(self, scaled: Scaled, variant: Any, tolerance: float) -> None:
        self.variant, self.solver_tolerance = variant, tolerance
        self._prepare(scaled)

    def _best_of_three(self) -> float | None:
        """None unless all three are accurate: some solvers carry state from solve to solve."""
        times = []
        for _ in range(3):
            self.solve()
            if not self.error <= ACCURACY:
                return None
            times.append(self.seconds)
        return min(times)

    def solve(self) -> float:
        """Solve from a cold start, note the times, return the cost in the units of the case."""
        self._forget()
        begin = time.perf_counter()
        answer = self._solve()
        self.wall_seconds = time.perf_counter() - begin
        cost, self.reported_seconds = self._read(answer)
        self.error = abs(cost - self._reference) / self._reference
        return cost

    @property
    def seconds(self) -> float:
        """Of the last solve, the smaller of wall and reported time."""
        if self.reported_seconds is None:
            return self.wall_seconds
        return min(self.wall_seconds, self.reported_seconds)

    def _forget(self) -> None:  # noqa: B027
        """Undo, outside the timer, what an earlier solve has left behind."""

    @abstractmethod
    def _prepare(self, scaled: Scaled) -> None: ...

    @abstractmethod
    def _solve(self) -> Any: ...

    @abstractmethod
    def _read(self, answer: Any) -> tuple[float, float | None]: ...


class Quadprog(Peer):
    """Dense dual active set. Tube with unit Hessian, whose inverse factor is given, not computed.

    quadprog wants a definite Hessian: a ridge of 1e-6 on theta, measured from least squares, costs
    less than 1e-9 of the answer. Weights in the Hessian instead of the rows change nothing.
    """

    name = "quadprog"

    def _prepare(self, scaled: Scaled) -> None:
        self._tube = tube = Tube(scaled, unit=True)
        walls, low, high = tube.rows[:-1], tube.low[:-1], tube.high[:-1]
        self._columns = np.vstack([walls, -walls, tube.rows[-1:]]).T
        self._limits = np.concatenate([low, -high, tube.low[-1:]])
        diagonal = np.where(tube.hessian > 0, tube.hessian, RIDGE)
        self._inverse_root = np.diag(1 / np.sqrt(diagonal))

    def _solve(self) -> Any:
        return quadprog.solve_qp(
            self._inverse_root, self._tube.linear, self._columns, self._limits, 0, True
        )

    def _read(self, answer: Any) -> tuple[float, None]:
        return self._tube.cost(answer[0]), None


class Daqp(Peer):
    """Dense dual active set. Box or tube with the same ridge; its own proximal steps off.

    The box takes 0.7 to 0.9 of the tube's time at K = 100, after a costly setup that is not charged
    (`solve_time` only). Automatic proximal steps take 2 to 80 times as long as the ridge.
    """

    name = "DAQP"
    variants = ("tube", "box")

    def _prepare(self, scaled: Scaled) -> None:
        if self.variant == "tube":
            self._formulation: Tube | Box = Tube(scaled, unit=True)
            self._prepare_tube(self._formulation)
        else:
            self._formulation = Box(scaled)
            self._prepare_box(self._formulation)
        self._sense = np.zeros(len(self._low), dtype=np.int32)

    def _prepare_tube(self, tube: Tube) -> None:
        self._hessian = np.diag(np.where(tube.hessian > 0, tube.hessian, RIDGE))
        self._linear, self._rows = tube.linear, np.ascontiguousarray(tube.rows)
        self._low, self._high = tube.low, np.minimum(tube.high, FREE)

    def _prepare_box(self, box: Box) -> None:
        bound = np.minimum(box.bound, FREE)
        self._hessian = box.hessian + RIDGE * np.eye(len(bound))
        self._linear, self._rows = box.linear, np.ascontiguousarray(box.half_space[None])
        self._low, self._high = np.append(-bound, box.gap), np.append(bound, FREE)

    def _solve(self) -> Any:
        return daqp.solve(
            self._hessian,
            self._linear,
            self._rows,
            self._high,
            self._low,
            self._sense,
            eps_prox=0.0,
            primal_tol=self.solver_tolerance,
            dual_tol=1e-11,
            iter_limit=100_000,
        )

    def _read(self, answer: Any) -> tuple[float, float]:
        point, _, _, info = answer
        self.setup_seconds = float(info["setup_time"])
        return self._formulation.cost(point), float(info["solve_time"])


class _Piqp(Peer):
    tolerances = (1e-7, 1e-8, 1e-9, 1e-10, 1e-11)

    def _configured(self, solver: Any) -> Any:
        settings = solver.settings
        settings.verbose = False
        settings.compute_timings = True
        settings.eps_rel = 0.0
        settings.eps_abs = self.solver_tolerance
        settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = self.solver_tolerance
        return solver

    def _solve(self) -> Any:
        self._solver.solve()
        return self._solver.result

    def _read(self, answer: Any) -> tuple[float, float]:
        self.setup_seconds = float(answer.info.setup_time)
        return self._formulation.cost(answer.x), float(answer.info.solve_time)


class PiqpDense(_Piqp):
    """Dense interior point. Box: one factorisation of K + d, no general rows but the half-space."""

    name = "PIQP dense"

    def _prepare(self, scaled: Scaled) -> None:
        self._formulation = box = Box(scaled)
        self._solver = self._configured(piqp.DenseSolver())
        self._solver.setup(
            np.asfortranarray(box.hessian),
            box.linear,
            G=np.asfortranarray(box.half_space[None]),
            h_l=np.array([box.gap]),
            h_u=np.array([np.inf]),
            x_l=-box.bound,
            x_u=box.bound,
        )


class PiqpSparse(_Piqp):
    """Sparse interior point. Tube, as rows or as bounded slacks.

    Slacks are 1.1 to 2 times faster at K = 1000, rows a little faster at K <= 100. Condensing
    the inequalities is 1.1 to 2 times slower than rows, the dual (z+, z-, alpha) 1.2 to 1.8 times.
    """

    name = "PIQP sparse"
    variants = ("rows", "slacks")

    def _prepare(self, scaled: Scaled) -> None:
        self._formulation = tube = Tube(scaled, unit=False)
        self._solver = self._configured(piqp.SparseSolver())
        if self.variant == "rows":
            self._solver.setup(
                sparse.diags(tube.hessian, format="csc"),
                tube.linear,
                G=sparse.csc_matrix(tube.rows),
                h_l=tube.low,
                h_u=tube.high,
            )
            return
        equalities, hessian, half_space = tube.slack_rows()
        free = np.full(len(tube.linear), np.inf)
        self._solver.setup(
            sparse.diags(hessian, format="csc"),
            np.zeros(len(hessian)),
            equalities,
            np.zeros(equalities.shape[0]),
            sparse.csc_matrix(half_space[None]),
            tube.low[-1:],
            tube.high[-1:],
            np.concatenate([-free, tube.low[:-1]]),
            np.concatenate([free, tube.high[:-1]]),
        )


class Osqp(Peer):
    """Operator splitting. Tube with unit Hessian; polishing is what makes it accurate.

    The variants are first values of its step rho, which it adapts and keeps: it is put back before
    every solve, or later solves would stop at other, often inaccurate, points.
    """

    name = "OSQP"
    variants = (0.1, 1.0, 10.0, 100.0, 1000.0)
    tolerances = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

    def _prepare(self, scaled: Scaled) -> None:
        self._tube = tube = Tube(scaled, unit=True)
        self._solver = osqp.OSQP()
        self._solver.setup(
            sparse.diags(tube.hessian, format="csc"),
            tube.linear,
            sparse.csc_matrix(tube.rows),
            tube.low,
            tube.high,
            verbose=False,
            warm_starting=False,
            polishing=True,
            check_termination=10,
            max_iter=20_000,
            rho=self.variant,
            eps_abs=self.solver_tolerance,
            eps_rel=self.solver_tolerance,
        )

    def _forget(self) -> None:
        self._solver.update_settings(rho=self.variant)

    def _solve(self) -> Any:
        return self._solver.solve()

    def _read(self, answer: Any) -> tuple[float, float]:
        self.setup_seconds = float(answer.info.setup_time)
        return self._tube.cost(answer.x), float(answer.info.solve_time + answer.info.polish_time)


class Clarabel(Peer):
    """Sparse interior point. Tube, as 2K one-sided rows or as bounded slacks.

    Without presolve and scaling, since the data are scaled already, and without iterative
    refinement, which takes a quarter to a third of the time and is not needed for the accuracy.
    Slacks are 3 times faster at K = 1000, d = 50; the dual in (z+, z-, alpha) takes twice as long
    as they do there.
    """

    name = "Clarabel"
    variants = ("rows", "slacks")
    tolerances = (1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)

    def _prepare(self, scaled: Scaled) -> None:
        self._tube = tube = Tube(scaled, unit=False)
        walls, low, high = tube.rows[:-1], tube.low[:-1], tube.high[:-1]
        limits = np.concatenate([high, -low, -tube.low[-1:]])
        cones = [clarabel.NonnegativeConeT(len(limits))]
        if self.variant == "rows":
            hessian = tube.hessian
            rows = sparse.csc_matrix(np.vstack([walls, -walls, -tube.rows[-1:]]))
        else:
            equalities, hessian, half_space = tube.slack_rows()
            pick = sparse.eye(len(low), len(hessian), k=len(hessian) - len(low))
            rows = sparse.vstack([equalities, pick, -pick, -half_space[None]], format="csc")
            limits = np.concatenate([np.zeros(len(low)), limits])
            cones = [clarabel.ZeroConeT(len(low)), *cones]
        curvature, settings = sparse.diags(hessian, format="csc"), self._settings()
        begin = time.perf_counter()
        self._solver = clarabel.DefaultSolver(
            curvature, np.zeros(len(hessian)), rows, limits, cones, settings
        )
        self.setup_seconds = time.perf_counter() - begin

    def _settings(self) -> Any:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        for name in ("presolve_enable", "equilibrate_enable", "iterative_refinement_enable"):
            setattr(settings, name, False)
        for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
            setattr(settings, name, self.solver_tolerance)
        return settings

    def _solve(self) -> Any:
        return self._solver.solve()

    def _read(self, answer: Any) -> tuple[float, float]:
        return self._tube.cost(answer.x), float(answer.solve_time)


PEERS: tuple[type[Peer], ...] = (Quadprog, Daqp, PiqpDense, PiqpSparse, Osqp, Clarabel)
