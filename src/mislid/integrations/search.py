"""Studies that compare the best trials of an Optuna search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mislid._formatting import shown
from mislid._validation import Matrix, Vector, as_count, as_top_m
from mislid.errors import MissingPackageError, ProblemError
from mislid.study.manage import create_study
from mislid.study.settings import UNKNOWN
from mislid.study.study import Study

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial

# A column whose residual from the span of the others is below this depends on them.
IN_SPAN = 1e-9
# Settings that the search determines.
SAID_BY_SEARCH = ("candidates", "names", "columns", "direction", "intercept")


def from_optuna(
    study: optuna.Study,
    top: int = 20,
    *,
    m: int = 1,
    params: Iterable[str] | None = None,
    noise: Any = UNKNOWN,
    misspecification: float | str | None = None,
    **settings: Any,
) -> Study:
    """Create a study that identifies the m truly best among an Optuna study's best trials.

    The best value of a search is good partly by luck. The new study therefore uses no value of the
    search: it measures all candidates again. The search only determines the candidates.

    Parameters
    ----------
    study
        An Optuna study with one objective; `optuna.load_study` opens one in a storage.
    top
        Maximal number of candidates: the best trials that are complete and feasible and have a
        finite value. Of several trials with the same parameters, only the best is a candidate.
    m
        Number of best candidates to find.
    params
        Names of the parameters that become features: all by default, none if empty. Parameters
        that do not affect the means cost measurements.
    noise
        As in `create_study`.
    misspecification
        How far a mean may be from linear in the features, as in `create_study`. Near an optimum
        the means are not linear, so leave it out unless you know a bound.
    **settings
        Other arguments of `create_study`, such as delta, tolerance, budget, storage and study_name.

    Returns
    -------
    Study
        A study whose candidates are labeled by the trials' numbers, such as "#12". Its direction
        is that of the search.

    Raises
    ------
    ProblemError
        The search has several objectives or too few trials, or a value is not allowed.
    MissingPackageError
        Optuna is not installed.

    Examples
    --------
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> search = optuna.create_study()  # minimises
    >>> for x in (-1, 0.25, 0.75, 1, 0.5):
    ...     search.enqueue_trial({"x": x})
    >>> def objective(trial):
    ...     return (trial.suggest_float("x", -1, 1) - 0.5) ** 2
    >>> search.optimize(objective, n_trials=5)
    >>> confirm = from_optuna(search, top=4, noise=0.01)
    >>> confirm.candidates.labels, confirm.settings.direction, confirm.samples
    (('#4', '#1', '#2', '#3'), 'minimize', 0)
    >>> def again(trial):
    ...     params = search.trials[int(trial.arm[1:])].params
    ...     return objective(optuna.trial.FixedTrial(params, number=1000 + trial.id))
    >>> confirm.optimize(again)
    >>> confirm.result.answer
    ('#4',)
    """
    most = as_count(top, "top", 2)
    for name in SAID_BY_SEARCH:
        if name in settings:
            raise ProblemError(f"{name} must be left out: it follows from Optuna's study")
    search = _as_search(study)
    trials = _completed(search)
    chosen = _best(trials, search.direction.name == "MAXIMIZE", most)
    K = len(chosen)
    if K < 2:
        raise ProblemError(
            "study must have at least 2 completed trials with different parameters that are "
            f"feasible and have a finite value; got one of Optuna with {K}"
        )
    as_top_m(m, K)
    columns, features = as_features(chosen, trials, _as_params(params, chosen))
    candidates: dict[str, Any] = {"candidates": [f"#{trial.number}" for trial in chosen]}
    if columns and len(columns) + 1 < K:
        candidates = {
            "candidates": features,
            "names": candidates["candidates"],
            "columns": columns,
            "misspecification": misspecification,
        }
    elif misspecification is not None:
        raise ProblemError(
            f"misspecification must be left out: with {len(columns)} independent features and a "
            f"common level, there is no structure in the means of {K} candidates: take more "
            f"candidates (top) or other parameters (params); got {shown(misspecification)}"
        )
    direction = search.direction.name.lower()
    return create_study(**candidates, m=m, noise=noise, direction=direction, **settings)


def _as_search(study: Any) -> optuna.Study:
    """Check that the search is an Optuna study with one objective."""
    try:
        import optuna
    except ImportError:
        raise MissingPackageError(
            "from_optuna needs Optuna (pip install 'mislid[optuna]')"
        ) from None
    if not isinstance(study, optuna.Study):
        raise ProblemError(
            f"study must be a study of Optuna, such as optuna.load_study gives; got {shown(study)}"
        )
    if len(study.directions) != 1:
        raise ProblemError(
            f"study must have one objective; got one of Optuna with {len(study.directions)}: "
            "confirm one of them, or their weighted sum"
        )
    return study


def _completed(search: optuna.Study) -> list[FrozenTrial]:
    """Complete and feasible trials with a finite value."""
    trials = search.get_trials(deepcopy=False)
    done = [trial for trial in trials if trial.state.name == "COMPLETE"]
    return [trial for trial in done if _is_feasible(trial) and math.isfinite(_value(trial))]


def _is_feasible(trial: FrozenTrial) -> bool:
    """Whether a trial satisfies its constraints: a dict since Optuna 5, a list before."""
    limits = getattr(trial, "constraints", None)
    values = trial.system_attrs.get("constraints") if limits is None else limits.values()
    return all(value <= 0.0 for value in values or ())


def _value(trial: FrozenTrial) -> float:
    return math.nan if trial.value is None else float(trial.value)


def _best(trials: Sequence[FrozenTrial], maximize: bool, top: int) -> list[FrozenTrial]:
    """The best trials with distinct parameters, best first; ties go to the earliest."""
    sign = -1.0 if maximize else 1.0
    ordered = sorted(trials, key=lambda trial: (sign * _value(trial), trial.number))
    different: dict[str, FrozenTrial] = {}
    for trial in ordered:
        different.setdefault(repr(sorted(trial.params.items())), trial)
    return list(different.values())[:top]


def _as_params(params: Any, chosen: Sequence[FrozenTrial]) -> list[str]:
    """Names of the parameters that become features, in the order of the search."""
    known = list(dict.fromkeys(name for trial in chosen for name in trial.params))
    if params is None:
        return known
    is_list = isinstance(params, Iterable) and not isinstance(params, str)
    if not is_list or set(params) - set(known):
        raise ProblemError(
            "params must be a list of names of parameters, among "
            f"{', '.join(map(repr, known)) or 'none'}; got {shown(params)}"
        )
    return [name for name in known if name in set(params)]


def as_features(
    chosen: Sequence[FrozenTrial], searched: Sequence[FrozenTrial], names: Sequence[str]
) -> tuple[list[str], Matrix]:
    """Column names and features (K, d) of the chosen trials.

    A numeric parameter is scaled to [0, 1] over its range in the search, on a log scale if the
    search used one. A categorical parameter has an indicator column for every choice. A parameter
    that some candidates lack is 0 for them, and an indicator column marks the candidates that have
    it; any other constant would allow the same means. Constant columns, and those that depend
    linearly on earlier ones, are dropped, so that the columns are independent of each other and of
    the column of ones that studies add.
    """
    kept, labels = [np.ones(len(chosen))], []
    for name in names:
        for label, column in _columns(name, chosen, searched):
            if np.linalg.matrix_rank(np.column_stack([*kept, column]), tol=IN_SPAN) > len(kept):
                kept.append(column)
                labels.append(label)
    return labels, np.column_stack(kept)[:, 1:]


def _columns(
    name: str, chosen: Sequence[FrozenTrial], searched: Sequence[FrozenTrial]
) -> list[tuple[str, Vector]]:
    """All columns of one parameter, with names."""
    ranges: list[Any] = [trial.distributions[name] for trial in searched if name in trial.params]
    has = np.array([name in trial.params for trial in chosen], dtype=np.float64)
    if not all(hasattr(one, "low") and hasattr(one, "high") for one in ranges):
        # Compare by repr: 1 and True are equal, and None as a choice differs from a missing one.
        taken = [repr(trial.params[name]) if name in trial.params else "" for trial in chosen]
        given = [trial.params[name] for trial in chosen if name in trial.params]
        choices = {repr(choice): choice for choice in given}
        return [
            (f"{name}={choice}", np.array([float(one == text) for one in taken]))
            for text, choice in choices.items()
        ]
    # The range may have changed during the search: take the widest.
    low, high = min(one.low for one in ranges), max(one.high for one in ranges)
    values = np.array([trial.params.get(name, low) for trial in chosen], dtype=np.float64)
    log = all(one.log for one in ranges)
    if log:
        values, low, high = np.log(values), math.log(low), math.log(high)
    places = (values - low) / (high - low) if high > low else np.zeros(len(chosen))
    return [(f"{name} given", has), (f"log {name}" if log else name, places)]
