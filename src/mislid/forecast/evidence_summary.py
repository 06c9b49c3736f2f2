"""What a study's measurements say of its answer by now, for any misspecification."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid._validation import Matrix, Vector
from mislid.engine import Engine
from mislid.forecast.history import Arms, intervals_of
from mislid.stopping.evidence import Families, Pairs, by_two_arms, families_of
from mislid.stopping.noise import by_own_values, scatter_after, scatter_over_time
from mislid.stopping.pairs import AnswerEvidence, Standing
from mislid.stopping.spread import spread_of
from mislid.study.candidates import Candidates
from mislid.study.events import Decided
from mislid.study.replay import Replay
from mislid.study.settings import EQUAL, GUARANTEED, KNOWN, Settings

# Earlier times at which two arms are looked at, besides those when pairs were settled.
MOST_LOOKS = 100


@dataclass(frozen=True, eq=False)
class Claims:
    """A study at one moment: what its evidence is computed from.

    Attributes
    ----------
    settings, candidates, engine
        The question, and the rules as they were then.
    decision, verdict
        The recorded decision, and what the rules of this release come to by the same log; None
        where there is none.
    arms, values
        The measurements (n,) in their order, in the sign in which more is better.
    looks
        Numbers of measurements after each event that had any, increasing: those of one event may
        have come in any order, so nothing is looked at in between.
    """

    settings: Settings
    candidates: Candidates
    engine: Engine
    decision: Decided | None
    verdict: Decided | None
    arms: Arms
    values: Vector
    looks: Arms

    @classmethod
    def of(cls, replay: Replay, engine: Engine) -> Claims:
        """The study as a replay and its engine know it, which may go on afterwards."""
        state = replay.state
        events = np.array([one.sequence for one in state.observations], dtype=np.int64)
        return cls(
            settings=state.settings,
            candidates=state.candidates,
            engine=engine.copy(),
            decision=state.decision,
            verdict=replay.verdict,
            arms=np.array([one.arm for one in state.observations], dtype=np.int64),
            values=state.settings.sign * np.array([one.value for one in state.observations]),
            looks=np.flatnonzero(np.diff(events, append=0)) + 1,
        )

    @property
    def declared(self) -> float:
        """The misspecification of the study."""
        return self.engine.question.model.misspecification

    @property
    def answer(self) -> tuple[int, ...]:
        """The m arms of the decision or, before there is one, of the estimates; best first."""
        if self.decision is not None:
            return self.decision.answer
        return self.engine.incumbents if self.engine.is_estimated else ()

    def is_proved(self, level: float) -> bool:
        """Whether the study's own rule has decided for the answer, at no larger an error rate."""
        verdict = self.verdict
        own = verdict is not None and set(verdict.answer) == set(self.answer)
        return own and self.engine.question.delta <= level

    def intervals(self) -> Matrix:
        """Intervals (K, 2) for all means, in the user's sign."""
        engine = self.engine
        data = engine.counts.astype(np.float64), engine.means, engine.scatter
        return intervals_of(self.settings, self.candidates, *data)

    def pairs_of(self, answer: tuple[int, ...], structured: bool) -> AnswerEvidence:
        """The evidence of an answer's pairs, by the M in which features have a weight, or not.

        What was settled at earlier times counts where that was by the same M: by two arms for every
        misspecification, by the features for those up to the declared one. Where the noise is not
        known, it counts for those up to the declared one, whatever settled it.
        """
        question = self.engine.question
        families = families_of(question.K, question.m, structured, question.delta, question.noise)
        # Not the engine's weights, which have pretended measurements for some published rules.
        weights, means = self.engine.counts / question.noise**2, self.engine.means
        own = None if question.noise_model in (KNOWN, EQUAL) else self._own_values
        counts = self.engine.counts.astype(np.float64)
        spread = spread_of(question.noise_model, counts, means, self.engine.scatter)
        data = Standing(question.model, families, question.tolerance, weights, means, own, spread)
        found = AnswerEvidence(data, answer)
        if structured != question.structured:
            return found
        times = self._settled(found.pairs)
        known = np.where(times > 0, families.level, -math.inf)
        # Processes of values take too long to be looked at again.
        always = self._by_two_arms(families, found.pairs, times) if own is None else None
        return AnswerEvidence(data, answer, known, self.declared, always)

    def _own_values(self, pairs: Pairs) -> Vector:
        """Evidence (n,) of pairs by the values of their two arms, where the noise is not known."""
        engine, question = self.engine, self.engine.question
        data = engine.counts.astype(np.float64), engine.means, engine.scatter
        noise = question.noise_model, question.reward_range
        return by_own_values(*noise, *data, pairs, question.tolerance)

    def _settled(self, pairs: Pairs) -> Arms:
        """Numbers of measurements (n,) when pairs were settled, or known to be; 0 for open ones."""
        settled, verdict = self.engine.settled(), self.verdict
        least = 0
        if self.engine.stopping.name == GUARANTEED and verdict is not None:
            least = verdict.samples if set(verdict.answer) == set(pairs[:, 1].tolist()) else 0
        times = [settled.get((i, j), least) for i, j in pairs.tolist()]
        return np.array(times, dtype=np.int64)

    def _by_two_arms(self, families: Families, pairs: Pairs, settled: Arms) -> Vector:
        """The most evidence (n,) that pairs had by their two arms, of the times looked at."""
        question, (i, j) = self.engine.question, pairs.T
        found = np.full(len(pairs), -math.inf)
        counts, sums, before = np.zeros(question.K), np.zeros(question.K), 0
        running = scatter_over_time(question.noise_model, None, self.arms, self.values)
        for time in np.union1d(_spread(self.looks), settled[settled > 0]).tolist():
            new = slice(before, time)
            counts += np.bincount(self.arms[new], minlength=question.K)
            sums += np.bincount(self.arms[new], self.values[new], question.K)
            before = time
            means = sums / np.maximum(counts, 1.0)
            weights = counts / question.noise**2
            gap = means[j] - means[i] + question.tolerance
            scatter = scatter_after(running, self.arms, time, question.K)
            spread = spread_of(question.noise_model, counts, means, scatter)
            then = by_two_arms(families.two_arms, gap, weights[i], weights[j], spread)
            found = np.maximum(found, then)
        return found


def _spread(times: Arms) -> Arms:
    """Some of many times, closer to each other at first."""
    if times.size <= MOST_LOOKS:
        return times
    return times[np.unique(np.geomspace(1, times.size, MOST_LOOKS).astype(np.int64)) - 1]
