"""Settings of a study: its question, with validation and JSON conversion."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mislid._formatting import shown
from mislid._validation import (
    LARGEST_SEED,
    LONGEST_REASON,
    Vector,
    as_costs,
    as_count,
    as_line,
    as_number,
    as_top_m,
    in_order,
    is_one_of,
)
from mislid.algorithms import algorithm_names, as_algorithm
from mislid.engine.engine import check_rules
from mislid.errors import ProblemError
from mislid.io import as_plain
from mislid.question import NoiseModel, Question, parse_noise
from mislid.stopping.rules import PYTHON, STOPPING_RULES, as_stopping_rule
from mislid.study.candidates import Candidates, refuse_difference, refuse_other_candidates

MAXIMIZE, MINIMIZE = "maximize", "minimize"
GUARANTEED = "guaranteed"
UNKNOWN, KNOWN, BOUNDED, BERNOULLI = "unknown", "known", "bounded", "bernoulli"
EQUAL = "unknown-equal"


@dataclass(frozen=True)
class Settings:
    """The question of a study and its rules.

    Attributes
    ----------
    m, delta, tolerance
        Number of best candidates to find, error rate, and how much worse than the m-th best a
        candidate of the answer may be.
    misspecification
        How far means may be from linear in the features; infinite if unknown.
    noise
        One standard deviation, or one per candidate.
    direction
        "maximize" or "minimize".
    algorithm, stopping, seed
        Names of the rules, and the seed of their random numbers.
    mean_bound
        Bound on the means' absolute values, used only by `mislid-paper` and its variants.
    reward_range
        Declared range (low, high) of all values, or None; the noise is then half of its length.
    structured
        Whether features have weight in the proof; None if this follows from the misspecification.
        True with an infinite misspecification means that the misspecification is unknown.
    noise_model
        Kind of the declared noise, see docs/noise.md.
    budget
        The most measurements, or None. The rules do not use it.
    cost
        Cost of a measurement of each candidate, or None; infinite for candidates that cannot be
        measured.
    promised
        The error rate that the user asked for, if delta is only a part of it after candidates were
        added or left; else None.

    Examples
    --------
    >>> from mislid import create_study
    >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=0.2, budget=50)
    >>> settings = study.settings
    >>> settings.error_rate, settings.declared, settings.budget_left(20)
    (0.05, inf, 30)
    >>> settings.deviations(3).tolist(), settings.arguments()["noise"]
    ([0.2, 0.2, 0.2], 0.2)

    The JSON-compatible form in a log omits undeclared values:

    >>> from mislid.study import Settings
    >>> plain = settings.plain()
    >>> plain["misspecification"], "cost" in plain, Settings.of(plain) == settings
    ('inf', False, True)
    """

    m: int
    delta: float
    misspecification: float
    noise: tuple[float, ...]
    tolerance: float
    direction: str
    algorithm: str
    stopping: str
    seed: int
    mean_bound: float = field(default=math.inf)
    reward_range: tuple[float, float] | None = None
    structured: bool | None = None
    noise_model: str = KNOWN
    budget: int | None = None
    cost: tuple[float, ...] | None = None
    promised: float | None = None

    @property
    def error_rate(self) -> float:
        """The error rate of the study; the rules use `delta`, which may be smaller."""
        return self.delta if self.promised is None else self.promised

    @property
    def is_structured(self) -> bool:
        """Whether features have weight in the proof."""
        if self.noise_model == UNKNOWN:
            return False  # with unknown noise, features prove nothing
        finite = math.isfinite(self.misspecification)
        return finite if self.structured is None else self.structured

    @property
    def declared(self) -> float | str:
        """The misspecification, or "unknown"."""
        unknown = self.structured and math.isinf(self.misspecification)
        return UNKNOWN if unknown else self.misspecification

    @property
    def noise_words(self) -> str:
        """A description of the noise."""
        if self.noise_model != KNOWN:
            words = {
                UNKNOWN: "unknown, Gaussian",
                EQUAL: "unknown, Gaussian, the same for all candidates",
                BERNOULLI: "of values 0 and 1",
            }
            low, high = self.reward_range or (0.0, 1.0)
            return words.get(self.noise_model, f"of values from {low:g} to {high:g}")
        low, high = min(self.noise), max(self.noise)
        return f"{low:g}" if low == high else f"{low:g} to {high:g}"

    @property
    def oriented_range(self) -> tuple[float, float] | None:
        """The declared range of values, with the sign that makes larger better, or None."""
        if self.reward_range is None:
            return None
        low, high = self.reward_range
        return (low, high) if self.direction == MAXIMIZE else (-high, -low)

    @property
    def sign(self) -> float:
        """The factor, 1 or -1, that makes larger values better."""
        return 1.0 if self.direction == MAXIMIZE else -1.0

    def arguments(self) -> dict[str, Any]:
        """The arguments of `create_study` that give these settings.

        Returns
        -------
        dict
            Arguments by name, which can be changed for a similar question.
        """
        given = dataclasses.asdict(self)
        given["misspecification"] = self.declared
        given["noise"] = self.noise[0] if len(self.noise) == 1 else list(self.noise)
        if self.noise_model == BOUNDED:
            given["noise"] = self.reward_range
        elif self.noise_model != KNOWN:
            given["noise"] = self.noise_model
        return given

    def budget_left(self, samples: int) -> int | None:
        """Remaining budget in measurements.

        Parameters
        ----------
        samples
            Number of measurements so far.

        Returns
        -------
        int or None
            0 if the budget is used up; None without a budget.
        """
        return None if self.budget is None else max(0, self.budget - samples)

    def deviations(self, K: int) -> Vector:
        """Standard deviations of all candidates.

        Parameters
        ----------
        K
            Number of candidates.

        Returns
        -------
        ndarray of float
            Standard deviations (K,).
        """
        return np.broadcast_to(np.array(self.noise), (K,)).copy()

    def plain(self) -> dict[str, Any]:
        """The settings as JSON-compatible values; infinity becomes "inf".

        Returns
        -------
        dict
            Declared values by name.
        """
        given: dict[str, Any] = as_plain(dataclasses.asdict(self))
        return {name: value for name, value in given.items() if value is not None}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Settings:
        """Settings from the output of `plain`.

        Parameters
        ----------
        plain
            Values from a log. They are checked elsewhere, not here.

        Returns
        -------
        Settings
            The original settings.
        """
        numbers = {"delta", "misspecification", "tolerance", "mean_bound"}
        read: dict[str, Any] = dict(plain)
        read |= {name: float(plain[name]) for name in numbers}
        read["noise"] = tuple(float(value) for value in plain["noise"])
        if "reward_range" in plain:
            low, high = plain["reward_range"]
            read["reward_range"] = (float(low), float(high))
        if "cost" in plain:
            read["cost"] = tuple(float(value) for value in plain["cost"])
        return cls(**read)


def question_of(settings: Settings, candidates: Candidates) -> Question:
    """The question of a study, for an engine."""
    return Question(
        candidates.model(settings.misspecification),
        settings.m,
        noise=NoiseModel(
            settings.noise_model, settings.deviations(candidates.K), settings.oriented_range
        ).declaration,
        delta=settings.delta,
        tolerance=settings.tolerance,
        mean_bound=settings.mean_bound,
        structured=settings.is_structured,
    )


def as_settings(candidates: Candidates, **given: Any) -> Settings:
    """Validate the arguments of a study; refuses questions that its rules cannot answer."""
    m = as_top_m(given["m"], candidates.K)
    direction = _one_of(given["direction"], "direction", (MAXIMIZE, MINIMIZE))
    noise_model, noise, reward_range = _as_noise(given["noise"], candidates, direction)
    misspecification, structured = as_misspecification(given["misspecification"], candidates)
    settings = Settings(
        m=m,
        delta=as_number(given["delta"], "delta", low=1e-300, high=1, high_open=True),
        misspecification=misspecification,
        structured=structured,
        noise=noise,
        noise_model=noise_model,
        tolerance=as_number(given["tolerance"], "tolerance", low=0, high=math.inf),
        direction=direction,
        algorithm=_as_algorithm(given["algorithm"], candidates),
        stopping=_as_stopping(given["stopping"]),
        seed=as_count(given["seed"], "seed", 0, LARGEST_SEED),
        mean_bound=as_number(
            given["mean_bound"], "mean_bound", low=0, high=math.inf, low_open=True, allow_inf=True
        ),
        reward_range=reward_range,
        budget=None if given.get("budget") is None else as_count(given["budget"], "budget", 1),
        cost=_as_cost(given.get("cost"), candidates),
    )
    rules = as_algorithm(given["algorithm"]), as_stopping_rule(given["stopping"])
    check_rules(question_of(settings, candidates), *rules, settings.cost)
    return settings


def _as_cost(value: Any, candidates: Candidates) -> tuple[float, ...] | None:
    """Costs of measurements, or None; they may be infinite only for candidates with features."""
    if value is None:
        return None
    costs = as_costs(in_order(value, "cost", candidates.labels), candidates.K, allow_inf=True)
    if np.isinf(costs).any() and candidates.features is None:
        raise ProblemError(
            "cost must be finite for candidates without features: one that is never measured could "
            "not be compared"
        )
    return tuple(costs.tolist())


def _as_noise(
    noise: Any, candidates: Candidates, direction: str
) -> tuple[str, tuple[float, ...], tuple[float, float] | None]:
    """The noise model, the standard deviations, and the declared range of values or None."""
    if noise is None:
        raise ProblemError(
            "noise must be given: the standard deviation of a measurement, one for all candidates "
            "or one for each, 'unknown', 'unknown-equal', 'bernoulli' for values 0 and 1, or the "
            "range (low, high) of all values; got None"
        )
    kind, deviations, bounds = parse_noise(
        in_order(noise, "noise", candidates.labels), candidates.K
    )
    if kind == BERNOULLI and direction == MINIMIZE:
        raise ProblemError(
            "noise='bernoulli' is for direction='maximize': tell 1 for what is wanted, or use "
            "noise=(0, 1)"
        )
    return kind, as_deviations(deviations), bounds


def as_deviations(given: Vector) -> tuple[float, ...]:
    """One standard deviation if all are equal, else one per arm."""
    return tuple(given[:1].tolist() if np.all(given == given[0]) else given.tolist())


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float | np.floating) and value == math.inf


def as_misspecification(value: Any, candidates: Candidates) -> tuple[float, bool | None]:
    """The misspecification as a number, and the value of `Settings.structured`."""
    if candidates.features is None:
        if value is not None and not (_is_infinite(value) or is_one_of(value, (UNKNOWN,))):
            raise ProblemError(
                "misspecification must be left out, or inf, for candidates without features; "
                f"got {shown(value)}"
            )
        return math.inf, None
    if value is None or (isinstance(value, str) and value == UNKNOWN):
        return math.inf, True
    if isinstance(value, str):
        raise ProblemError(
            "misspecification must be how far a mean may be from linear in the features, a number "
            f"at least 0 or inf, or {UNKNOWN!r}; got {shown(value)}"
        )
    return as_number(value, "misspecification", low=0, high=math.inf, allow_inf=True), None


def as_reason(reason: Any) -> str | None:
    """Check a user's reason, or None."""
    if reason is None:
        return None
    return as_line(reason, "reason", LONGEST_REASON, "a text, or None")


def _one_of(value: Any, name: str, allowed: Iterable[str]) -> str:
    allowed = tuple(allowed)
    if not isinstance(value, str) or value not in allowed:
        raise ProblemError(f"{name} must be one of {', '.join(allowed)}; got {shown(value)}")
    return value


def is_python(rule: str) -> bool:
    """Whether a name is that of a rule written in Python.

    >>> is_python("python:lab:Coin"), is_python("lucb")
    (True, False)
    """
    return rule.startswith(PYTHON)


def is_absent(algorithm: str) -> bool:
    """Whether a sampling rule cannot be loaded by its name.

    This is the case for rules written in Python, and for rules of packages that are not installed.

    >>> is_absent("python:lab:Coin"), is_absent("coin-of-another-package"), is_absent("lucb")
    (True, True, False)
    """
    return is_python(algorithm) or algorithm not in algorithm_names()


def refuse_other_rules(name: str, settings: Settings, algorithm: Any, stopping: Any) -> None:
    """Refuse rules other than those of the study; an object must be of the original class."""
    given = ("algorithm", algorithm), ("stopping", stopping)
    for argument, rule in given:
        begun = getattr(settings, argument)
        if rule is None or (isinstance(rule, str) and rule == begun):
            continue
        # Compare class names only: the module may be `__main__` in one script and not in another.
        if not is_python(begun):
            raise ProblemError(
                f"{argument} must be left out: study {name!r} was begun with {begun!r}; got "
                f"{shown(rule)}"
            )
        if isinstance(rule, str) or type(rule).__qualname__ != begun.rpartition(":")[2]:
            raise ProblemError(
                f"{argument} must be an object of {begun.partition(':')[2]!r}, with which study "
                f"{name!r} was begun; got {shown(rule)}"
            )


def _called(rule: Any) -> str:
    """The name of a rule object in the log, which identifies its class."""
    return f"{PYTHON}{type(rule).__module__}:{type(rule).__qualname__}"


def _as_stopping(value: Any) -> str:
    if not isinstance(value, str) and as_stopping_rule(value).judge is not None:
        return _called(value)
    return _one_of(value, "stopping", STOPPING_RULES)


def _as_algorithm(value: Any, candidates: Candidates) -> str:
    """The name of a sampling rule, by which another process can continue the study."""
    if not isinstance(value, str):
        if not hasattr(as_algorithm(value), "propose"):
            raise ProblemError(
                "algorithm must be a name or an object with propose(view) for a study, whose log "
                f"holds names alone; got {shown(value)}"
            )
        return _called(value)
    featureless = candidates.features is None
    barred = {"oracle", *(("lingape", "lingifa") if featureless else ())}
    return _one_of(value, "algorithm", (name for name in algorithm_names() if name not in barred))


def refuse_others(
    name: str, was: tuple[Settings, Candidates], now: tuple[Settings, Candidates]
) -> None:
    """Refuse to continue a study whose settings differ from the given ones."""
    for key, old in dataclasses.asdict(was[0]).items():
        new = getattr(now[0], key)
        if old != new:
            refuse_difference(name, key, repr(_single(old)), repr(_single(new)))
    refuse_other_candidates(name, was[1], now[1])


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value
