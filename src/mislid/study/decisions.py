"""Which arm to measure next and when to stop: the compiled rules, driven by a study's events.

The simulator measures what it proposes at once. In a study answers come late, in any order, or
never, so it is fixed here what a decision is a function of: the events in their order, nothing
else. Every process that replays them, at whatever pace, calls the same compiled functions on the
same numbers in the same order, and comes to the same choices to the last bit.

- After every `Told`, and once after every `Observed`, the means are estimated and the stopping rule
  is tested, as the simulator does after every measurement.
- Every trial that a rule chose is one proposal, made with the random number of its id. Until all
  arms of the first design are measured, proposals go round the design.
- With open trials, the rule sees the data as if each of them had returned the present estimate of
  its arm. The pretended values never enter the data, nor a stopping test. What a rule learns at a
  proposal, such as the gains of MisLid's game, it keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import SeedSequence

from mislid.algorithms import as_algorithm
from mislid.algorithms._setting import first_arms, new_setting
from mislid.study.events import Decided
from mislid.study.settings import MAXIMIZE, Candidates, Settings

if TYPE_CHECKING:
    from mislid.rules._state import State

# More samples than any study will have.
_NEVER = 1 << 62


class Decider:
    """The rules of one study, and what they remember."""

    def __init__(self, settings: Settings, candidates: Candidates) -> None:
        from mislid.rules._random import key_of
        from mislid.rules._state import new_state
        from mislid.rules._stopping import new_stopping

        algorithm = as_algorithm(settings.algorithm)
        model = candidates.model(settings.misspecification)
        self.settings = settings
        self.setting = new_setting(
            model,
            settings.deviations(candidates.K),
            settings.m,
            settings.delta,
            settings.tolerance,
            algorithm,
            settings.mean_bound,
        )
        structured = candidates.features is not None
        self.design = first_arms(self.setting, algorithm) if structured else np.arange(candidates.K)
        patience = algorithm.patience(len(self.design), model.d, 1.0)
        self.stopping = new_stopping(self.setting, settings.stopping, 1.0, patience)
        self.sampler, self.rivals = algorithm.setup(self.setting, model)
        self.state: State = new_state(self.setting)
        # Proposals that pretend have their own: a search leaves things behind for the next one.
        self._pretended: State = new_state(self.setting)
        # The same stream as a simulation's decisions.
        self.key = key_of(SeedSequence(settings.seed, spawn_key=(1,)))
        self._designed = False

    def observe(self, arms: Sequence[int], values: Sequence[float]) -> Decided | None:
        """Take in measurements, in the user's sign, and judge; the decision, if this is enough."""
        from mislid.rules._state import measure

        for arm, value in zip(arms, values, strict=True):
            measure(self.setting, self.state, arm, self.settings.sign * value)
        if not self._designed:
            self._designed = bool(np.all(self.state.counts[self.design] > 0.0))
        return self._decision() if self._designed and self._judge() else None

    def _judge(self) -> bool:
        """Estimate, and test if due; not between the pulls of one round, as in a simulation."""
        from mislid.rules._propose import needs_estimate
        from mislid.rules._state import QUEUED
        from mislid.rules._stopping import estimate_and_test, is_due

        if self.state.clock[QUEUED] > 0:
            return False
        due = _uncompiled(is_due)(self.stopping, self.state)
        if not due and not _uncompiled(needs_estimate)(self.sampler.plan):
            return False
        return bool(estimate_and_test(self.setting, self.stopping, self.state))

    def propose(self, trials: Sequence[int], waiting: Sequence[int]) -> list[int]:
        """The arms of new trials of these ids, while trials of the arms `waiting` are open."""
        if not self._designed:
            return self._go_round(len(trials), waiting)
        arms: list[int] = []
        rest = list(trials)
        if not waiting:
            arms.append(self._next(self.state, rest.pop(0)))
        if rest:
            arms += self._pretending([*waiting, *arms], rest)
        return arms

    def _go_round(self, n: int, waiting: Sequence[int]) -> list[int]:
        """Arms of the design with the fewest measurements and open trials; of equals, the first."""
        asked = self.state.counts.copy()
        np.add.at(asked, np.array(waiting, dtype=np.int64), 1.0)
        arms = []
        for _ in range(n):
            arm = int(self.design[np.argmin(asked[self.design])])
            asked[arm] += 1.0
            arms.append(arm)
        return arms

    def _next(self, state: State, trial: int) -> int:
        from mislid.rules._propose import next_arm
        from mislid.rules._random import uniform

        number = uniform(self.key, trial)
        return int(next_arm(self.setting, self.sampler, state, number, self.rivals))

    def _pretending(self, waiting: Sequence[int], trials: Sequence[int]) -> list[int]:
        """Proposals that count on open trials."""
        from mislid.rules._state import QUEUED, ROUNDS, STALLS, measure
        from mislid.rules._stopping import estimate_and_test

        state = self._pretended
        _copy_numbers(self.state, state)
        for arm in waiting:
            measure(self.setting, state, arm, self.state.projected[arm])
        untested = self.stopping._replace(patience=_NEVER)
        arms = []
        for trial in trials:
            if state.clock[QUEUED] == 0:
                estimate_and_test(self.setting, untested, state)
            arm = self._next(state, trial)
            measure(self.setting, state, arm, self.state.projected[arm])
            arms.append(arm)
        for kept in (ROUNDS, QUEUED, STALLS):
            self.state.clock[kept] = state.clock[kept]
        return arms

    def best(self) -> tuple[int, ...]:
        """The m arms that the estimates prefer now, best first."""
        return best_arms(self.state)

    def _decision(self) -> Decided:
        from mislid.rules._state import CHALLENGER, INCUMBENT, SAMPLES, STATISTIC, THRESHOLD

        evidence = self.state.evidence
        return Decided(
            answer=self.best(),
            samples=int(self.state.clock[SAMPLES]),
            rule=self.settings.stopping,
            statistic=float(evidence[STATISTIC]),
            threshold=float(evidence[THRESHOLD]),
            pair=(int(evidence[CHALLENGER]), int(evidence[INCUMBENT])),
        )

    @property
    def judged(self) -> bool:
        """Whether there is an estimate."""
        from mislid.rules._state import JUDGED

        return bool(self.state.clock[JUDGED] > 0)


def best_arms(state: State) -> tuple[int, ...]:
    """The incumbents, best first."""
    order = np.argsort(-state.projected[state.incumbents], kind="stable")
    return tuple(int(arm) for arm in state.incumbents[order])


@cache
def warm_up(algorithm: str, stopping: str) -> None:
    """Compile what a study with these rules needs, or load it from disk.

    Nobody should have to wait for a compiler because another process holds a study.
    """
    arms = Candidates((0, 1, 2), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    small = Settings(
        m=1,
        delta=0.5,
        misspecification=0.1,
        noise=(1.0,),
        tolerance=0.0,
        direction=MAXIMIZE,
        algorithm=algorithm,
        stopping=stopping,
        seed=0,
    )
    decider = Decider(small, arms)
    decider.observe((0, 1, 2), (0.0, 0.1, 0.2))
    decider.propose((0, 1), ())


def _uncompiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that only kernels call, for Python."""
    function: Callable[..., Any] = getattr(kernel, "py_func", kernel)
    return function


def _copy_numbers(source: State, target: State) -> None:
    """What was measured and estimated; searches keep their own workspaces."""
    for given, taken in zip(source, target, strict=True):
        if isinstance(given, np.ndarray) and isinstance(taken, np.ndarray):
            np.copyto(taken, given)
