"""What a study is about: its candidates and the question about them, checked and plain."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mislid._validation import (
    LARGEST_SEED,
    Labels,
    Matrix,
    Vector,
    as_array,
    as_costs,
    as_count,
    as_labels,
    as_noise,
    as_number,
    as_top_m,
    as_vector,
    is_one_of,
    is_unicode,
)
from mislid._words import shown
from mislid.errors import ProblemError
from mislid.files import as_plain
from mislid.geometry.coordinates import set_late
from mislid.model import Model
from mislid.question import Question
from mislid.rules.noise import UNDECLARED

MAXIMIZE, MINIMIZE = "maximize", "minimize"
UNKNOWN, KNOWN, BOUNDED, BERNOULLI = "unknown", "known", "bounded", "bernoulli"
EQUAL = "unknown-equal"
# What the column is called that is added to the features, and how far ones may be from their span.
ONES, IN_SPAN = "(ones)", 1e-9


@dataclass(frozen=True, eq=False)
class Candidates:
    """The arms: K labels and, unless nothing is known about them, features (K, d).

    `columns` names the features, where that is known. `late` are those that were added after a look
    at values of others: what is proved by features is stated in coordinates that they have no part
    in.
    """

    labels: Labels
    features: Matrix | None
    columns: tuple[str, ...] | None = None
    late: tuple[int, ...] = ()

    @property
    def K(self) -> int:
        """Number of arms."""
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidates) and self.plain() == other.plain()

    def __hash__(self) -> int:
        return hash(self.labels)

    @cached_property
    def positions(self) -> dict[str | int, int]:
        """From a label to the arm's index."""
        labels: tuple[str | int, ...] = self.labels
        return {label: k for k, label in enumerate(labels)}

    def arm(self, label: Any, name: str = "arm") -> int:
        """The index of the arm that the user calls `label`.

        >>> Candidates(("a", "b"), None).arm("c")
        Traceback (most recent call last):
        ...
        mislid.errors.ProblemError: arm must be one of the 2 candidates, 'a', 'b'; got 'c'
        """
        known = isinstance(label, str | int | np.integer) and not isinstance(label, bool)
        if not known or label not in self.positions:
            some = ", ".join(repr(label) for label in self.labels[:3])
            more = ", ..." if self.K > 3 else ""
            raise ProblemError(
                f"{name} must be one of the {self.K} candidates, {some}{more}; got {shown(label)}"
            )
        return self.positions[label]

    def called(self, text: str) -> str | int:
        """The label that somebody typed: a whole number where the labels are."""
        try:
            return int(text) if isinstance(self.labels[0], int) else text
        except ValueError:
            return text  # which is not among them

    def model(self, misspecification: float) -> Model:
        """The model of their means.

        Without features it is a common level with deviations of any size: that allows all means,
        and its one column costs less than K of them.
        """
        features = np.ones((self.K, 1)) if self.features is None else self.features
        model = Model(features, misspecification)
        if self.late:
            set_late(model, self.late)
        return model

    @property
    def shown(self) -> dict[str, int]:
        """The features that somebody gave, by what they are called; the added ones are none."""
        if self.features is None:
            return {}
        names = self.columns or [f"x{at}" for at in range(self.features.shape[1])]
        return {name: at for at, name in enumerate(names) if name != ONES}

    def with_ones(self) -> Candidates:
        """The same with one feature more that is 1 for all, unless it is in the others' span."""
        if self.features is None or _spans_ones(self.features):
            return self
        features = np.column_stack([self.features, np.ones(self.K)])
        features.setflags(write=False)
        return Candidates(self.labels, features, (*self.shown, ONES))

    def plain(self) -> dict[str, Any]:
        """Values of JSON: what the rules see, and what a certificate is about."""
        features = None if self.features is None else self.features.tolist()
        return {"labels": list(self.labels), "features": features}

    def written(self) -> dict[str, Any]:
        """Values of JSON for the log, with names of features only where they are known."""
        return self.plain() | ({} if self.columns is None else {"columns": list(self.columns)})

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Candidates:
        """From values of JSON."""
        features, columns = plain["features"], plain.get("columns")
        given = None if features is None else np.array(features, dtype=np.float64)
        return cls(tuple(plain["labels"]), given, None if columns is None else tuple(columns))


def _spans_ones(features: Matrix) -> bool:
    """Whether some linear combination of the columns is 1 for all, to about nine digits."""
    sizes = np.linalg.norm(features, axis=0)
    scaled = features[:, sizes > 0.0] / sizes[sizes > 0.0]
    ones = np.ones(len(features))
    rest = ones - scaled @ np.linalg.lstsq(scaled, ones, rcond=None)[0]
    return bool(np.linalg.norm(rest) <= IN_SPAN * np.linalg.norm(ones))


def as_candidates(
    candidates: Any,
    names: Iterable[Any] | None = None,
    columns: Iterable[Any] | None = None,
    *,
    fewest: int = 2,
) -> Candidates:
    """Read candidates from what a user has.

    A DataFrame has one row per arm, its index names them. A dict maps labels to features. An array
    (K, d) has them without labels, which `names` gives, or else are 0 to K - 1. A list of labels,
    or a table without columns, says nothing of features. `columns` names the features where no
    DataFrame does.

    >>> as_candidates({"a": [1, 0], "b": [0, 1]}).labels
    ('a', 'b')
    >>> as_candidates(["a", "b", "c"]).features is None
    True
    """
    if isinstance(candidates, Mapping):
        _refuse_names(names, "a dict")
        return _from_table(list(candidates), list(candidates.values()), columns, fewest)
    if hasattr(candidates, "index") and hasattr(candidates, "to_numpy"):
        _refuse_names(names, "a DataFrame")
        if getattr(candidates, "shape", (0, 1))[1:] == (0,):
            return _from_labels(list(candidates.index), fewest)
        if columns is not None:
            raise ProblemError("columns must be left out where candidates are a DataFrame")
        known = getattr(candidates, "columns", None)
        return _from_table(list(candidates.index), candidates, known, fewest)
    if candidates is None or isinstance(candidates, str | bytes) or not _has_entries(candidates):
        raise ProblemError(
            "candidates must be a DataFrame of features with one row per arm, a dict of them, an "
            f"array (K, d) or a list of labels; got {shown(candidates)}"
        )
    if isinstance(candidates, np.ndarray) and candidates.ndim == 1:
        candidates = candidates.tolist()
    if not isinstance(candidates, np.ndarray):
        candidates = list(candidates)
        if all(np.ndim(entry) == 0 for entry in candidates):
            _refuse_names(names, "labels")
            return _from_labels(candidates, fewest)
    labels = range(len(candidates)) if names is None else names
    return _from_table(labels, candidates, columns, fewest)


def as_intended(candidates: Candidates, intercept: Any) -> Candidates:
    """With a feature that is 1 for all, unless that is refused or there are no features."""
    if intercept is not None and not isinstance(intercept, bool | np.bool_):
        raise ProblemError(f"intercept must be True, False or None; got {shown(intercept)}")
    if intercept and candidates.features is None:
        raise ProblemError("intercept must be left out for candidates without features; got True")
    refused = intercept is not None and not intercept
    return candidates if refused else candidates.with_ones()


def _has_entries(candidates: Any) -> bool:
    return isinstance(candidates, Iterable) and np.ndim(np.asarray(candidates, dtype=object)) > 0


def _refuse_names(names: Iterable[Any] | None, what: str) -> None:
    if names is not None:
        raise ProblemError(f"names must be left out where candidates are {what}: they have theirs")


def _from_labels(labels: list[Any], fewest: int) -> Candidates:
    if len(labels) < fewest:
        raise ProblemError(f"candidates must be at least {fewest}; got {len(labels)}")
    return Candidates(as_labels(labels, len(labels), "the labels of candidates"), None)


def _from_table(
    labels: Iterable[Any], features: Any, columns: Iterable[Any] | None, fewest: int
) -> Candidates:
    given = as_array(features, "candidates", 2, "one row per arm and one column per feature")
    known = as_labels(labels, given.shape[0], "the labels of candidates")
    if len(given) >= min(fewest, 2) > 1:
        Model(given, math.inf)  # refuses what no model can be made of
    given.setflags(write=False)
    called = None if columns is None else _as_columns(columns, given.shape[1])
    return Candidates(known, given, called)


def _as_columns(columns: Iterable[Any], d: int) -> tuple[str, ...]:
    """Names of features; those that would be confused with another are numbered."""
    try:
        given = [str(name).strip() for name in columns]
    except (TypeError, ValueError):  # no sequence, or an integer without end
        raise ProblemError(
            f"columns must be names of the {d} features; got {shown(columns)}"
        ) from None
    for name in given:
        if not is_unicode(name):
            raise ProblemError(f"columns must be text of Unicode characters; got {shown(name)}")
    if len(given) != d:
        raise ProblemError(f"columns must name all {d} features; got {len(given)} names")
    clear = [
        name if name and name != ONES and given.count(name) == 1 else f"x{at}"
        for at, name in enumerate(given)
    ]
    return tuple(clear if len(set(clear)) == d else (f"x{at}" for at in range(d)))


@dataclass(frozen=True)
class Settings:
    """The question: which m candidates are best, at error rate delta, and how to find out.

    `noise` holds one standard deviation, or one per arm. `mean_bound` bounds the means' absolute
    values, which only `mislid-paper` and its kin make use of. `reward_range` (low, high) is where
    every value is, if that was declared; the noise is then half of its length. `structured` says
    whether features have a weight in the proof, None if that follows from the misspecification:
    an infinite one with a weight is one that is not known. `noise_model` says what is known of the
    noise, see docs/noise.md. `budget` is how many measurements there can be, if that is known; no
    rule looks at it. `cost` is what a measurement of each candidate costs, if that was said; it is
    infinite where none can be made any more. `promised` is the error rate that was asked for, where
    delta is only a part of it: after candidates came or left. `guided` says whether features choose
    every other trial while the misspecification is unknown.
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
    guided: bool = False

    @property
    def error_rate(self) -> float:
        """How often an answer may be wrong; the rules go by `delta`."""
        return self.delta if self.promised is None else self.promised

    @property
    def is_structured(self) -> bool:
        """Whether features have a weight in the proof."""
        if self.noise_model == UNKNOWN:
            return False  # features prove nothing then
        finite = math.isfinite(self.misspecification)
        return finite if self.structured is None else self.structured

    @property
    def is_guided(self) -> bool:
        """Whether features choose trials without proving: until a misspecification is declared."""
        return self.guided and math.isinf(self.misspecification)

    @property
    def declared(self) -> float | str:
        """The misspecification, or "unknown"."""
        unknown = self.structured and math.isinf(self.misspecification)
        return UNKNOWN if unknown else self.misspecification

    @property
    def noise_words(self) -> str:
        """What is known of the noise, for people."""
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
        """Where values are in the sign in which more is better, if that is part of the proof."""
        if self.noise_model in (KNOWN, *UNDECLARED) or self.reward_range is None:
            return None
        low, high = self.reward_range
        return (low, high) if self.direction == MAXIMIZE else (-high, -low)

    @property
    def sign(self) -> float:
        """What a value is multiplied by so that more is better."""
        return 1.0 if self.direction == MAXIMIZE else -1.0

    def arguments(self) -> dict[str, Any]:
        """What `as_settings` makes these settings of, for a question that differs in a part."""
        given = dataclasses.asdict(self)
        given["misspecification"] = self.declared
        if self.noise_model in UNDECLARED:
            given["noise"] = self.noise_model
        elif self.reward_range is not None:
            given["noise"] = None
        elif len(self.noise) == 1:
            given["noise"] = self.noise[0]
        if self.noise_model == BERNOULLI:
            given["rewards"] = BERNOULLI
        return given

    def budget_left(self, samples: int) -> int | None:
        """Measurements that are left of the budget after so many; None without one."""
        return None if self.budget is None else max(0, self.budget - samples)

    def deviations(self, K: int) -> Vector:
        """Standard deviations (K,)."""
        return np.broadcast_to(np.array(self.noise), (K,)).copy()

    def plain(self) -> dict[str, Any]:
        """Values of JSON, which has no infinity; a range only where one was declared."""
        given: dict[str, Any] = as_plain(dataclasses.asdict(self))
        for name in ("reward_range", "structured", "budget", "cost", "promised"):
            if given[name] is None:  # so are the logs of releases that knew of none
                del given[name]
        if self.noise_model == KNOWN:
            del given["noise_model"]
        if not self.guided:
            del given["guided"]
        return given

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Settings:
        """From values of JSON."""
        numbers = {"delta", "misspecification", "tolerance", "mean_bound"}
        read: dict[str, Any] = dict(plain)
        read |= {name: float(plain[name]) for name in numbers}
        read["noise"] = tuple(float(value) for value in plain["noise"])
        read["stopping"] = present_rule(plain["stopping"])
        if "reward_range" in plain:
            low, high = plain["reward_range"]
            read["reward_range"] = (float(low), float(high))
        if "cost" in plain:
            read["cost"] = tuple(float(value) for value in plain["cost"])
        return cls(**read)


def question_of(settings: Settings, candidates: Candidates) -> Question:
    """What a study asks."""
    return Question(
        candidates.model(settings.misspecification),
        settings.m,
        noise=settings.deviations(candidates.K) if settings.noise_model == KNOWN else 1.0,
        noise_model=settings.noise_model,
        reward_range=settings.oriented_range,
        delta=settings.delta,
        tolerance=settings.tolerance,
        mean_bound=settings.mean_bound,
        structured=settings.is_structured,
    )


def as_settings(candidates: Candidates, **given: Any) -> Settings:
    """Check the question that was asked about the candidates; refuses what no rule can answer."""
    reward_range = _as_reward_range(given.get("reward_range"))
    noise_model = _as_noise_model(given, reward_range)
    if noise_model == BERNOULLI:
        reward_range = 0.0, 1.0
    misspecification, structured = _as_misspecification(given["misspecification"], candidates)
    settings = Settings(
        m=as_top_m(given["m"], candidates.K),
        delta=as_number(given["delta"], "delta", low=1e-300, high=1, high_open=True),
        misspecification=misspecification,
        structured=structured,
        noise=(1.0,)
        if noise_model in UNDECLARED
        else _as_deviations(_declared_noise(given["noise"], reward_range), candidates.K),
        noise_model=noise_model,
        tolerance=as_number(given["tolerance"], "tolerance", low=0, high=math.inf),
        direction=_one_of(given["direction"], "direction", (MAXIMIZE, MINIMIZE)),
        algorithm=_as_algorithm(given["algorithm"], candidates),
        stopping=_as_stopping(given["stopping"]),
        seed=as_count(given["seed"], "seed", 0, LARGEST_SEED),
        mean_bound=as_number(
            given["mean_bound"], "mean_bound", low=0, high=math.inf, low_open=True, allow_inf=True
        ),
        reward_range=reward_range,
        budget=None if given.get("budget") is None else as_count(given["budget"], "budget", 1),
        cost=_as_cost(given.get("cost"), candidates),
        guided=_is_guided(structured, noise_model, given),
    )
    question = question_of(settings, candidates)
    _check_rules(given["algorithm"], given["stopping"], question, settings.cost)
    return settings


def _is_guided(structured: bool | None, noise_model: str, given: Mapping[str, Any]) -> bool:
    """Whether features that prove nothing by themselves choose what to measure."""
    rules = given["algorithm"], given["stopping"]
    return structured is True and noise_model != UNKNOWN and rules == ("mislid", "guaranteed")


def _as_cost(value: Any, candidates: Candidates) -> tuple[float, ...] | None:
    """What a measurement costs, or None; infinite for what has features and is never measured."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        missing = [label for label in candidates.labels if label not in value]
        strange = [label for label in value if label not in candidates.positions]
        if missing or strange:
            wrong = f"lacks {missing[0]!r}" if missing else f"has {strange[0]!r}, which is none"
            raise ProblemError(f"cost must have one number for every candidate; the dict {wrong}")
        value = [value[label] for label in candidates.labels]
    costs = as_costs(value, candidates.K, allow_inf=True)
    if np.isinf(costs).any() and candidates.features is None:
        raise ProblemError(
            "cost must be finite for candidates without features: one that is never measured could "
            "not be compared"
        )
    return tuple(costs.tolist())


def redeclared(
    was: Settings, candidates: Candidates, misspecification: Any, noise: Any
) -> Settings:
    """The settings with what is declared anew; None leaves it as it was."""
    changes: dict[str, Any] = {}
    if misspecification is not None:
        # One M for all declarations: features keep the weight that they had from the beginning.
        changes["misspecification"] = _as_misspecification(misspecification, candidates)[0]
        changes["structured"] = was.is_structured
    if noise is not None:
        if was.reward_range is not None or was.noise_model != KNOWN or isinstance(noise, str):
            raise ProblemError(
                "noise must be a number, or one for each candidate, of a study whose noise was "
                f"declared as such; got {shown(noise)} where it is {was.noise_words}"
            )
        changes["noise"] = _as_deviations(noise, candidates.K)
    return dataclasses.replace(was, **changes)


def _as_deviations(noise: Any, K: int) -> tuple[float, ...]:
    """One standard deviation where all are the same, or one per arm."""
    given = as_noise(noise, K)
    return tuple(given[:1].tolist() if np.all(given == given[0]) else given.tolist())


def _as_noise_model(given: Mapping[str, Any], reward_range: tuple[float, float] | None) -> str:
    """What is known of the noise, by which of the arguments were given."""
    rewards, noise = given.get("rewards"), given["noise"]
    if rewards is not None:
        if not (isinstance(rewards, str) and rewards == BERNOULLI):
            raise ProblemError(
                "rewards must be 'bernoulli', for values 0 and 1, or left out; got "
                f"{shown(rewards)}"
            )
        if noise is not None or reward_range not in (None, (0.0, 1.0)):
            raise ProblemError("noise and reward_range must be left out for rewards='bernoulli'")
        if given["direction"] == MINIMIZE:
            raise ProblemError(
                "rewards='bernoulli' is for direction='maximize': tell 1 for what is wanted, or "
                "use reward_range=(0, 1)"
            )
        return BERNOULLI
    if isinstance(noise, str):
        if noise not in UNDECLARED or reward_range is not None:
            raise ProblemError(
                f"noise must be a number, one for each candidate, {UNKNOWN!r} or {EQUAL!r}, "
                f"without a reward_range; got {shown(noise)}"
            )
        return str(noise)
    return KNOWN if reward_range is None else BOUNDED


def _as_reward_range(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    low, high = as_vector(value, "reward_range", 2, what="the least and the largest value").tolist()
    if not low < high or math.isinf(high - low):
        raise ProblemError(
            f"reward_range must be (low, high) with low below high; got {shown(value)}"
        )
    return low, high


def _declared_noise(noise: Any, reward_range: tuple[float, float] | None) -> Any:
    """Half of a range's length, by Hoeffding's lemma: such values are sub-Gaussian with it."""
    if reward_range is None:
        if noise is None:
            raise ProblemError(
                "noise must be given: the standard deviation of a measurement, one for all "
                "candidates or one for each, or 'unknown'; or instead of it reward_range=(low, "
                "high) if all values are within bounds, or rewards='bernoulli' if they are 0 or 1"
            )
        return noise
    if noise is not None:
        raise ProblemError(
            "noise must be left out where reward_range is given, which it follows from; "
            f"got {shown(noise)}"
        )
    return 0.5 * (reward_range[1] - reward_range[0])


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float | np.floating) and value == math.inf


def _as_misspecification(value: Any, candidates: Candidates) -> tuple[float, bool | None]:
    """The number, and whether features have a weight where that does not follow from it."""
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


def _one_of(value: Any, name: str, allowed: Iterable[str]) -> str:
    allowed = tuple(allowed)
    if not isinstance(value, str) or value not in allowed:
        raise ProblemError(f"{name} must be one of {', '.join(allowed)}; got {shown(value)}")
    return value


def is_python(rule: str) -> bool:
    """Whether this is the name of a rule that is written in Python.

    >>> is_python("python:lab:Coin"), is_python("lucb")
    (True, False)
    """
    from mislid.rules.stopping import PYTHON

    return rule.startswith(PYTHON)


def present_rule(name: str) -> str:
    """The stopping rule that an old log means: the proof of `guaranteed` is valid for any data.

    >>> present_rule("pairwise"), present_rule("paper")
    ('guaranteed', 'paper')
    """
    from mislid.rules.stopping import RETIRED

    return "guaranteed" if name in RETIRED else name


def _called(rule: Any) -> str:
    """What the log calls an object: a study goes on elsewhere with one of the same class."""
    from mislid.rules.stopping import PYTHON

    return f"{PYTHON}{type(rule).__module__}:{type(rule).__qualname__}"


def _as_stopping(value: Any) -> str:
    from mislid.rules.stopping import RETIRED, STOPPING_RULES, as_stopping_rule

    if not isinstance(value, str) and as_stopping_rule(value).judge is not None:
        return _called(value)
    if isinstance(value, str) and value in RETIRED:
        value = as_stopping_rule(value).name
    return _one_of(value, "stopping", STOPPING_RULES)


def _as_algorithm(value: Any, candidates: Candidates) -> str:
    """A name: a study must be able to begin where another process ended."""
    from mislid.algorithms import algorithm_names, as_algorithm

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


def _check_rules(
    algorithm: Any, stopping: Any, question: Question, cost: tuple[float, ...] | None
) -> None:
    from mislid.algorithms import as_algorithm
    from mislid.engine.cost import as_cost
    from mislid.engine.noise import refuse_unfit_rules
    from mislid.rules.stopping import as_stopping_rule

    rule = as_algorithm(algorithm)
    if hasattr(rule, "check"):
        rule.check(question)
    if cost is not None:
        as_cost(question, rule, np.array(cost))
    refuse_unfit_rules(question, rule, as_stopping_rule(stopping))


def refuse_others(
    name: str, was: tuple[Settings, Candidates], now: tuple[Settings, Candidates]
) -> None:
    """Refuse to go on with a study whose settings differ from those asked for."""
    for key, old in dataclasses.asdict(was[0]).items():
        new = getattr(now[0], key)
        if old != new and not _is_older(key, was[0]):
            _refuse_difference(name, key, repr(_single(old)), repr(_single(new)))
    _refuse_other_candidates(name, was[1], now[1])


def _is_older(key: str, was: Settings) -> bool:
    """Whether a study of an older release differs in this, which then goes on as it was.

    Before 0.3 values within bounds were taken for noise of half of the range, and features did not
    guide.
    """
    if key == "guided":
        return not was.guided
    return key == "noise_model" and was.reward_range is not None and was.noise_model == KNOWN


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) and len(value) == 1 else value


def _refuse_other_candidates(name: str, was: Candidates, now: Candidates) -> None:
    if was.K != now.K:
        _refuse_difference(name, "the number of candidates", str(was.K), str(now.K))
    for k, (old, new) in enumerate(zip(was.labels, now.labels, strict=True)):
        if old != new:
            _refuse_difference(name, f"the label of candidate {k}", repr(old), repr(new))
    shapes = [None if one.features is None else one.features.shape for one in (was, now)]
    if shapes[0] != shapes[1]:
        _refuse_difference(name, "the shape of the features", str(shapes[0]), str(shapes[1]))
    if was.features is not None and now.features is not None:
        unequal = np.argwhere(was.features != now.features)
        if unequal.size:
            k, column = (int(index) for index in unequal[0])
            what = f"feature {column} of candidate {was.labels[k]!r}"
            values = (repr(float(one[k, column])) for one in (was.features, now.features))
            _refuse_difference(name, what, *values)


def _refuse_difference(name: str, what: str, was: str, now: str) -> None:
    raise ProblemError(
        f"study_name must be new or of a study with the same settings; got {name!r}, where "
        f"{what} was {was} and now is {now}"
    )
