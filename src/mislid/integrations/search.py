"""Which of the best trials of an Optuna study are really best?"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mislid._validation import as_count, as_text, as_top_m
from mislid._words import shown, without_password
from mislid.errors import MissingPackageError, ProblemError, StorageError
from mislid.integrations.parameters import as_features
from mislid.study.manage import create_study
from mislid.study.settings import UNKNOWN
from mislid.study.study import Study

if TYPE_CHECKING:
    import optuna
    from optuna.trial import FrozenTrial

# What the search itself says.
SAID_BY_SEARCH = ("candidates", "names", "columns", "direction", "intercept")


def from_optuna(
    study: optuna.Study | str,
    top: int = 20,
    *,
    m: int = 1,
    optuna_name: str | None = None,
    params: Iterable[str] | None = None,
    noise: Any = None,
    misspecification: float | str | None = None,
    **settings: Any,
) -> Study:
    """Begin a study of which m of an Optuna study's best trials are really best.

    The best value of a search is good partly by luck. So no value of the search counts here: all
    candidates are measured anew. The search only says who the candidates are.

    Parameters
    ----------
    study
        A study of Optuna with one objective, or the address of its storage, such as
        "sqlite:///search.db".
    top
        How many trials are candidates: the best that were completed, are feasible and have a
        finite value. Of trials with the same parameters the best counts. All, where there are
        fewer.
    m
        Number of best candidates to find.
    optuna_name
        The name of Optuna's study where `study` is an address; it may be left out where the
        storage has only one.
    params
        Parameters that become features: all unless given, none if empty. Those without a say in
        the candidates' means cost measurements.
    noise
        As in `create_study`; "unknown" unless given, or `reward_range` or `rewards`.
    misspecification
        How far a mean may be from linear in the features, as in `create_study`. Near an optimum
        means are not linear, so leave it out unless you know.
    **settings
        What else `create_study` takes, such as delta, tolerance, budget, storage and study_name.

    Returns
    -------
    Study
        Of candidates that are called by the trials' numbers, such as "#12". Its direction is
        that of the search.

    Raises
    ------
    ProblemError
        The search has several objectives or too few trials, or a value is not allowed.
    StorageError
        The storage cannot be opened.
    MissingPackageError
        Without Optuna.

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
    _refuse_settings(settings)
    search = _as_search(study, optuna_name)
    trials = _completed(search)
    chosen = _best(trials, search.direction.name == "MAXIMIZE", most)
    if len(chosen) < 2:
        raise ProblemError(
            "study must have at least 2 completed trials with different parameters; got one of "
            f"Optuna with {len(chosen)}"
        )
    _refuse_m(m, len(chosen))
    if noise is None and settings.get("reward_range") is None and settings.get("rewards") is None:
        noise = UNKNOWN
    return create_study(
        **_candidates(chosen, trials, _as_params(params, chosen), misspecification),
        m=m,
        noise=noise,
        direction=search.direction.name.lower(),
        **settings,
    )


def _refuse_settings(settings: dict[str, Any]) -> None:
    for name in SAID_BY_SEARCH:
        if name in settings:
            raise ProblemError(f"{name} must be left out: it follows from Optuna's study")


def _as_search(study: Any, optuna_name: Any) -> optuna.Study:
    """The search itself, or the one at an address; refuses several objectives."""
    try:
        import optuna
    except ImportError:
        raise MissingPackageError(
            "from_optuna needs Optuna (pip install 'mislid[optuna]')"
        ) from None
    if optuna_name is not None:
        as_text(optuna_name, "optuna_name", "the name of Optuna's study, or None")
    if isinstance(study, str):
        search = _opened(study, optuna_name)
    elif not isinstance(study, optuna.Study):
        raise ProblemError(
            f"study must be a study of Optuna, or the address of its storage; got {shown(study)}"
        )
    elif optuna_name is not None:
        raise ProblemError(
            f"optuna_name must be left out where study is one of Optuna; got {shown(optuna_name)}"
        )
    else:
        search = study
    if len(search.directions) != 1:
        raise ProblemError(
            f"study must have one objective; got one of Optuna with {len(search.directions)}: "
            "confirm one of them, or their weighted sum, in a study of its own"
        )
    return search


def _opened(address: str, name: str | None) -> optuna.Study:
    """The study at an address."""
    import optuna

    place = without_password(shown(address))
    _refuse_missing(address, place)
    try:
        names = optuna.get_all_study_names(address)
        if name is None and len(names) == 1:
            name = names[0]
        if name in names:
            return optuna.load_study(study_name=name, storage=address)
    except Exception as problem:  # of Optuna, of SQLAlchemy, or of the database's own package
        words = without_password(" ".join(str(problem).split()))
        raise StorageError(f"Optuna cannot open {place}: {shown(words, limit=300)}") from problem
    some = ", ".join(repr(one) for one in names[:5]) or "none"
    more = ", ..." if len(names) > 5 else ""
    raise ProblemError(
        f"optuna_name must be one of the {len(names)} studies in {place}, {some}{more}; got "
        f"{shown(name)}"
    )


def _refuse_missing(address: str, place: str) -> None:
    """Refuse what is no address, and files that are not there: Optuna would make them."""
    if re.match(r"[a-z][a-z0-9+]*://", address) is None:
        raise ProblemError(
            "study must be a study of Optuna, or an address such as 'sqlite:///search.db'; got "
            f"{place}"
        )
    file = re.match(r"sqlite(?:\+[a-z0-9]+)?:///(?!file:)([^?]+)", address)
    if file is not None and file[1] != ":memory:" and not _is_file(file[1]):
        raise ProblemError(f"study must be the address of a storage that is there; got {place}")


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _completed(search: optuna.Study) -> list[FrozenTrial]:
    """Trials that are done, feasible, and have a finite value; refuses none."""
    trials = search.get_trials(deepcopy=False)
    done = [trial for trial in trials if trial.state.name == "COMPLETE"]
    if not done:
        states = Counter(trial.state.name.lower() for trial in trials)
        counted = ", ".join(f"{count} {state}" for state, count in states.items()) or "no trials"
        raise ProblemError(f"study must have completed trials; got one of Optuna with {counted}")
    good = [trial for trial in done if _is_feasible(trial) and math.isfinite(_value(trial))]
    if not good:
        raise ProblemError(
            "study must have trials that are feasible and have a finite value; got one of Optuna "
            f"with {len(done)} completed trials, none of them such"
        )
    return good


def _is_feasible(trial: FrozenTrial) -> bool:
    """Whether it keeps its constraints: a dict since Optuna 5, a list before."""
    limits = getattr(trial, "constraints", None)
    values = trial.system_attrs.get("constraints") if limits is None else limits.values()
    return all(value <= 0.0 for value in values or ())


def _value(trial: FrozenTrial) -> float:
    return math.nan if trial.value is None else float(trial.value)


def _best(trials: Sequence[FrozenTrial], maximize: bool, top: int) -> list[FrozenTrial]:
    """The best trials with different parameters, best first; of equal ones the earliest."""
    sign = -1.0 if maximize else 1.0
    ordered = sorted(trials, key=lambda trial: (sign * _value(trial), trial.number))
    different: dict[str, FrozenTrial] = {}
    for trial in ordered:
        different.setdefault(repr(sorted(trial.params.items())), trial)
    return list(different.values())[:top]


def _refuse_m(m: Any, K: int) -> None:
    try:
        as_top_m(m, K)
    except ProblemError as problem:
        raise ProblemError(
            f"{problem}, the best trials of Optuna's study with different parameters"
        ) from None


def _as_params(params: Any, chosen: Sequence[FrozenTrial]) -> list[str]:
    """Names of the parameters that become features, in the order of the search."""
    known = list(dict.fromkeys(name for trial in chosen for name in trial.params))
    if params is None:
        return known
    names = ", ".join(map(repr, known)) or "none"
    rule = f"params must be a list of names of parameters, among {names}"
    if isinstance(params, str | bytes) or not isinstance(params, Iterable):
        raise ProblemError(f"{rule}; got {shown(params)}")
    wanted = list(params)
    for name in wanted:
        if not isinstance(name, str) or name not in known:
            raise ProblemError(f"{rule}; got {shown(name)}")
    return [name for name in known if name in wanted]


def _candidates(
    chosen: Sequence[FrozenTrial],
    trials: Sequence[FrozenTrial],
    params: Sequence[str],
    misspecification: Any,
) -> dict[str, Any]:
    """Candidates with features, or without where any means would be linear in them."""
    labels = [f"#{trial.number}" for trial in chosen]
    columns, features = as_features(chosen, trials, params)
    if columns and len(columns) + 1 < len(chosen):
        return {
            "candidates": features,
            "names": labels,
            "columns": columns,
            "misspecification": misspecification,
        }
    if misspecification is not None:
        why = (
            f"with {len(columns)} independent features and a common level, any means of "
            f"{len(chosen)} candidates are linear: take more candidates (top) or fewer parameters "
            "(params)"
            if columns
            else "the candidates have no features, which differ from each other"
        )
        raise ProblemError(
            f"misspecification must be left out: {why}; got {shown(misspecification)}"
        )
    return {"candidates": labels}
