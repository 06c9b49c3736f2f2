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

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import SeedSequence

from mislid.algorithms import as_algorithm
from mislid.algorithms._setting import first_arms, new_setting
from mislid.errors import CorruptStorageError
from mislid.study.events import Decided
from mislid.study.settings import MAXIMIZE, Candidates, Settings

if TYPE_CHECKING:
    from mislid.geometry._heap import Indices
    from mislid.rules._follow import Steps
    from mislid.rules._state import State


class Script:
    """What the rules have to take in, in order."""

    def __init__(self) -> None:
        self._places: list[tuple[int, int, int]] = []
        self._arms: list[int] = []
        self._values: list[float] = []
        self._chosen = 0

    @property
    def size(self) -> int:
        """Numbers that it holds."""
        return len(self._places) + len(self._arms)

    def __bool__(self) -> bool:
        return bool(self._places)

    def tell(self, arms: Sequence[int], values: Sequence[float]) -> None:
        """Measurements, in the user's sign, after which the rules judge."""
        self._places.append((len(self._arms), self._chosen, -1))
        self._arms += arms
        self._values += values

    def ask(self, trial: int, n: int, waiting: Sequence[int]) -> None:
        """n trials from `trial` on, while others of the arms `waiting` are open."""
        self._places.append((len(self._arms), self._chosen, trial))
        self._arms += waiting
        self._values += [0.0] * len(waiting)
        self._chosen += n

    def steps(self, sign: float) -> Steps:
        """For the compiled rules."""
        from mislid.rules._follow import Steps

        end = (len(self._arms), self._chosen, -1)
        return Steps(
            places=np.array([*self._places, end], dtype=np.int64),
            arms=np.array(self._arms, dtype=np.int64),
            values=sign * np.array(self._values, dtype=np.float64),
            chosen=np.empty(self._chosen, dtype=np.int64),
        )


class Decider:
    """The rules of one study, and what they remember."""

    def __init__(self, settings: Settings, candidates: Candidates) -> None:
        from mislid.rules._follow import Round
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
        self._first = Round(self.design, np.zeros(1, np.int64), np.zeros(candidates.K))

    def observe(self, arms: Sequence[int], values: Sequence[float]) -> Decided | None:
        """Take in measurements, in the user's sign, and judge; the decision, if this is enough."""
        script = Script()
        script.tell(arms, values)
        return self.follow(script)[0]

    def propose(self, trials: Sequence[int], waiting: Sequence[int]) -> list[int]:
        """The arms of new trials of these ids, while trials of the arms `waiting` are open.

        Ids are consecutive.
        """
        script = Script()
        script.ask(trials[0], len(trials), waiting)
        return [int(arm) for arm in self.follow(script)[1]]

    def follow(self, script: Script) -> tuple[Decided | None, Indices]:
        """Take in all that happened; the first decision that it leads to, and the arms chosen."""
        from mislid.rules._follow import follow

        steps = script.steps(self.settings.sign)
        K = self.state.counts.shape[0]
        if steps.arms.size and not 0 <= steps.arms.min() <= steps.arms.max() < K:
            raise CorruptStorageError(
                f"the study's log names an arm that is not among its {K}: restore the storage from "
                "a backup"
            )
        decision, step, count = None, 0, steps.places.shape[0] - 1
        while step < count:
            step = follow(
                self.setting,
                self.sampler,
                self.stopping,
                self.state,
                self._pretended,
                self._first,
                self.key,
                self.rivals,
                steps,
                step,
            )
            if step < 0:
                decision, step = decision or self._decision(), -step
        return decision, steps.chosen

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
