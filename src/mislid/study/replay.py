"""A study as this process knows it: what the log says, and the rules driven by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mislid.study.decisions import Decider
from mislid.study.events import Asked, Decided, Event, Fact, Observed, Told
from mislid.study.state import StudyState


class Replay:
    """State and rules after the events so far; only new ones have to be taken in.

    `diverged` counts trials for which the rules would now choose another arm than the log has.
    Another release, or another kind of processor, may differ in the last bits; the log counts.
    """

    def __init__(self) -> None:
        self.state = StudyState()
        self.diverged = 0
        self._decider: Decider | None = None
        self._verdict: Decided | None = None

    @property
    def decider(self) -> Decider:
        """The rules."""
        if self._decider is None:
            self._decider = Decider(self.state.settings, self.state.candidates)
        return self._decider

    def follow(self, events: Iterable[Event]) -> None:
        """Take in events from the log."""
        for event in events:
            if isinstance(event.fact, Asked):
                self._propose_again(event.fact)
            self._apply(event)

    def propose(self, n: int, replacing: int) -> list[int]:
        """The arms of n new trials that a rule chooses, whose ids follow `replacing` others."""
        first = len(self.state.trials) + replacing
        # One that is asked again stays open, for the same arm, under another id.
        waiting = self.state.waiting_arms()
        return self.decider.propose(range(first, first + n), waiting) if n else []

    def record(self, facts: Iterable[Fact], now: float) -> list[Event]:
        """The events that these facts make, with the decision that they lead to; all taken in.

        An `Asked` must come from `propose`.
        """
        events = []
        for fact in facts:
            events.append(self._next(fact, now))
            if self._verdict is not None and self.state.decision is None:
                events.append(self._next(self._verdict, now))
        return events

    def _next(self, fact: Fact, now: float) -> Event:
        event = Event(self.state.sequence + 1, now, fact)
        self._apply(event)
        return event

    def _apply(self, event: Event) -> None:
        self.state.apply(event)
        match event.fact:
            case Told(trial, value):
                self._observe((self.state.trials[trial].arm,), (value,))
            case Observed(arms, values):
                self._observe(arms, values)

    def _observe(self, arms: Sequence[int], values: Sequence[float]) -> None:
        verdict = self.decider.observe(arms, values)
        # The first verdict counts, also where the process that reached it could not record it.
        if self._verdict is None:
            self._verdict = verdict

    def _propose_again(self, asked: Asked) -> None:
        """Let the rules remember the proposals that the event records."""
        chosen = [arm for arm, again in zip(asked.arms, asked.again, strict=True) if again is None]
        arms = self.propose(len(chosen), len(asked.arms) - len(chosen))
        self.diverged += sum(arm != other for arm, other in zip(arms, chosen, strict=True))
