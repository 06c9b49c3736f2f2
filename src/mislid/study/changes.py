"""Candidates that come and go while a study is running."""

from __future__ import annotations

from typing import Any

import numpy as np

from mislid._validation import Labels, Vector, as_costs, as_flag, as_noise, frozen, in_order
from mislid.errors import ProblemError
from mislid.study.candidates import Candidates
from mislid.study.census import Census
from mislid.study.facts import Added, Fact, Retired
from mislid.study.mending import as_reason
from mislid.study.settings import KNOWN, question_of
from mislid.study.state import StudyState


def addition(
    state: StudyState, given: Candidates, noise: Any, cost: Any, informed: Any, reason: Any
) -> list[Fact]:
    """What is recorded when candidates are added."""
    census, why = state.census, as_reason(reason)
    more = _as_more(census, given)
    # Nobody but the user knows what was seen: values may be at hand that were not told yet.
    looked = as_flag(informed, "informed")
    spread = _as_noise(census, noise, more.labels, looked)
    price = _as_cost(census, cost, more.labels)
    # What no rule can answer is refused before anything is written.
    now = census.with_more(more, spread, price, looked)
    question_of(now.question, now.candidates)
    return [Added(more, spread, price, looked, why)]


def retirement(
    state: StudyState, label: Any, leaves: Any, informed: Any, reason: Any
) -> list[Fact]:
    """What is recorded when a candidate is retired; nothing where it was."""
    census, why = state.census, as_reason(reason)
    leaving = as_flag(leaves, "leave")
    arm = census.arms[state.candidates.arm(label)]
    if arm in census.closed and not leaving:
        return []
    if leaving:
        looked = as_flag(informed, "informed")
        _refuse_last(census, label)
        rest = census.without(arm, True, looked)
        _refuse_none_left(rest, label)
        return [Retired(arm, True, looked, why)]
    place = census.place(arm)
    if not any(one.arm == place for one in state.observations):
        raise ProblemError(
            f"arm must be one that was measured, to stay in the comparison; got {label!r}, which "
            "was not: let it leave the question (leave=True), or measure it"
        )
    _refuse_none_left(census.without(arm, False, False), label)
    return [Retired(arm, False, False, why)]


def _as_more(census: Census, more: Candidates) -> Candidates:
    was = census.register
    if "" in more.labels:
        raise ProblemError("candidates must have names that are not empty; got ''")
    known = [label for label in more.labels if label in was.positions]
    if known:
        raise ProblemError(
            f"candidates must be new to the study; got {known[0]!r}, which is or was in it"
        )
    if {type(label) for label in more.labels} != {type(label) for label in was.labels}:
        raise ProblemError(
            f"candidates must be named as the others are, such as {was.labels[0]!r}; got "
            f"{more.labels[0]!r}"
        )
    if (was.features is None) != (more.features is None):
        wanted = "no features, as" if was.features is None else "features, as"
        raise ProblemError(f"candidates must have {wanted} the others do")
    return _in_columns(was, more)


def _in_columns(was: Candidates, more: Candidates) -> Candidates:
    """The features in the columns that the study has, one of which may be its own."""
    if was.features is None or more.features is None:
        return more
    shown, features = was.shown, more.features
    if more.columns is not None and was.columns is not None:
        missing = [name for name in shown if name not in more.columns]
        if missing or len(more.columns) != len(shown):
            raise ProblemError(
                f"candidates must have the features {', '.join(map(repr, shown))}; got "
                f"{', '.join(map(repr, more.columns))}"
            )
        features = features[:, [more.columns.index(name) for name in shown]]
    if features.shape[1] != len(shown):
        raise ProblemError(
            f"candidates must have {len(shown)} features, as the others do; got {features.shape[1]}"
        )
    if len(shown) < was.features.shape[1]:
        features = np.column_stack([features, np.ones(len(features))])
    return Candidates(more.labels, frozen(features))


def _as_noise(census: Census, noise: Any, labels: Labels, looked: bool) -> tuple[float, ...] | None:
    was = census.settings
    if was.noise_model != KNOWN or was.reward_range is not None:
        if noise is not None:
            raise ProblemError(
                f"noise must be left out in a study whose noise is {was.noise_words}; got {noise!r}"
            )
        return None
    single = len(was.noise) == 1
    if noise is None and not single:
        raise ProblemError("noise must be given for new candidates where each has its own")
    given = _noise_of(was.noise[0] if noise is None else noise, labels)
    if single and np.all(given == was.noise[0]):
        return None
    if looked:
        raise ProblemError(
            "noise must be the same for all candidates where some are added after a look at "
            "values, since evidence is measured in it; got "
            f"{'one for each' if noise is None else repr(noise)}. If the new ones were chosen "
            "without regard to values of this study, say so by informed=False"
        )
    return tuple(given.tolist())


def _noise_of(noise: Any, labels: Labels) -> Vector:
    return as_noise(in_order(noise, "noise", labels), len(labels))


def _as_cost(census: Census, cost: Any, labels: Labels) -> tuple[float, ...] | None:
    if cost is None:
        if census.settings.cost is not None:
            raise ProblemError("cost must be given for new candidates, as the others have one")
        return None
    if census.settings.cost is None:
        raise ProblemError(f"cost must be left out in a study without costs; got {cost!r}")
    return tuple(as_costs(in_order(cost, "cost", labels), len(labels)).tolist())


def _refuse_last(census: Census, label: Any) -> None:
    m = census.settings.m
    if len(census.arms) - 1 <= m:
        raise ProblemError(
            f"arm must leave more than the {m} candidates that are asked for; got {label!r}, one "
            f"of {len(census.arms)}"
        )


def _refuse_none_left(census: Census, label: Any) -> None:
    if not census.measurable:
        raise ProblemError(
            f"arm must not be the last one that can be measured; got {label!r}: nothing could be "
            "asked any more"
        )
    question_of(census.question, census.candidates)
