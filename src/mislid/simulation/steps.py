"""A run in plain Python, for rules that are not compiled: what the compiled loop does, slowly."""

from __future__ import annotations

from numpy.random import Generator

from mislid.engine import Engine
from mislid.engine.engine import EXHAUSTED, RUNNING, STOPPED
from mislid.simulation.environments import Environment


def advance_in_python(
    engine: Engine,
    environment: Environment,
    generator: Generator,
    budget: int,
    pause: int,
    own: bool = False,
) -> int:
    """Go on until an answer, `budget` measurements in all, or `pause` more of them.

    `own` puts the sampling rule's own test in the place of the stopping rule. Says RUNNING, STOPPED
    or EXHAUSTED, as `Engine.advance` does.
    """
    until, judged = engine.samples + pause, engine.last_judged
    while True:
        samples = engine.samples
        planned = samples < len(engine.design)
        # After a pause the data have been judged: once more could change the last bits.
        if not (planned or own or engine.is_midround or judged == samples):
            judged = samples
            if engine.judge().decided:
                return STOPPED
        if samples >= budget:
            return EXHAUSTED
        if samples >= until:
            return RUNNING
        arm = int(engine.design[samples]) if planned else engine.propose()
        engine.observe(arm, float(environment.sample(arm, 1, generator)[0]))
        if own and not planned and engine.own_test():
            return STOPPED
