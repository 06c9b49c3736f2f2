"""LUCB for the m best arms (Kalyanakrishnan et al., 2012), which ignores the features.

Every arm has an interval around its empirical mean. Of the m arms with the best means the one with
the smallest lower bound, and of the others the one with the largest upper bound, are the two that a
decision hangs on; the one with the wider interval is measured. It stops by its own index, that
largest upper bound less that smallest lower one, once it is at most the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mislid._jit import kernel
from mislid.algorithms._index_rules import (
    Index,
    IndexRule,
    beta_of,
    interval,
    is_answer,
    less_measured,
    unchosen,
)
from mislid.algorithms.registry import CompiledSampling, register
from mislid.geometry.order import mark_top
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State


@dataclass(frozen=True)
class LUCB(IndexRule):
    """LUCB on the empirical means.

    Attributes
    ----------
    authors
        Whether intervals have the width of the published runs instead of sqrt(2 beta / N).
    """

    authors: bool = False


class LUCBStruct(Index):
    """The index of the last choice, and which intervals."""

    published: bool  # those of the published runs


@kernel
def lucb_arm(setting: Setting, rule: LUCBStruct, state: State, uniform: float) -> int:
    """The arm to measure next; `index` is for LUCB's own stopping test.

    With equal noise the wider interval is that of the arm with fewer measurements; of equally wide
    ones the incumbent's is taken.
    """
    beta = beta_of(rule, state)
    flags, counts = state.work, state.counts
    mark_top(state.means, setting.m, state.heap, flags)
    incumbent, challenger = -1, -1
    lowest, highest = np.inf, -np.inf
    for k in range(counts.shape[0]):
        width = interval(beta, setting.variance[k], counts[k], rule.published)
        if flags[k] > 0.0:
            if incumbent < 0 or state.means[k] - width < lowest:
                incumbent, lowest = k, state.means[k] - width
        elif challenger < 0 or state.means[k] + width > highest:
            challenger, highest = k, state.means[k] + width
    rule.index = highest - lowest
    return less_measured(state, challenger, incumbent)


@kernel
def lucb_test(setting: Setting, rule: LUCBStruct, state: State) -> bool:
    """Whether the index settles the question: then `incumbents` have the best empirical means."""
    return is_answer(setting, rule, state, state.means)


@register({"lucb": LUCB(), "lucb-authors": LUCB(authors=True)})
def _compile(rule: LUCB, setup: Setup) -> CompiledSampling:
    struct = LUCBStruct.zeros({}, published=rule.authors, **unchosen(setup.setting))
    return CompiledSampling(struct, lucb_arm, lucb_test)
