"""A compiled rule is one new file of mislid/algorithms, and nothing else changes."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mislid
from mislid.algorithms import ALGORITHMS, registry
from mislid.algorithms.registry import import_modules
from mislid.engine import Engine

FILE = '''
"""Two arms in turn, then all."""

from dataclasses import dataclass

from mislid._jit import Struct, kernel
from mislid.algorithms.registry import Algorithm, CompiledSampling, register
from mislid.stopping.rules import Setup
from mislid.stopping.state import Setting, State


@dataclass(frozen=True)
class InTurn(Algorithm):
    """Every arm in turn, by the number of samples."""

    first: int = 0


class InTurnStruct(Struct):
    first: int


@kernel
def in_turn_arm(setting: Setting, rule: InTurnStruct, state: State, uniform: float) -> int:
    return (state.samples + rule.first) % setting.X.shape[0]


@register({"in-turn": InTurn(), "in-turn-from-one": InTurn(first=1)})
def _compile(rule: InTurn, setup: Setup) -> CompiledSampling:
    return CompiledSampling(InTurnStruct(first=rule.first), in_turn_arm)
'''
MODEL = mislid.Model([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 0.1)
INSTANCE = mislid.Instance(MODEL, [0.4, 0.5, 0.8], noise=0.1)


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "in_turn.py").write_text(FILE)
    folders = [*mislid.algorithms.__path__, str(tmp_path)]
    monkeypatch.setattr(mislid.algorithms, "__path__", folders)
    before = dict(ALGORITHMS)
    import_modules("mislid.algorithms", [str(tmp_path)])
    yield
    registry._NAMED.clear()
    registry._NAMED.update(before)
    del sys.modules["mislid.algorithms.in_turn"], mislid.algorithms.in_turn


@pytest.mark.usefixtures("added")
def test_simulations_and_studies_know_it_by_name() -> None:
    for first, name in enumerate(["in-turn", "in-turn-from-one"]):
        assert Engine(mislid.Question(MODEL, 1), name).is_compiled
        found = mislid.identify(INSTANCE, 1, algorithm=name)
        assert found.answer == (2,)
        assert found.counts.max() - found.counts.min() <= 1 + first
        study = mislid.create_study(candidates=["a", "b", "c"], m=1, noise=0.1, algorithm=name)
        trials = [study.ask() for _ in range(3)]
        for trial in trials:
            study.tell(trial, {"a": 0.4, "b": 0.5, "c": 0.8}[trial.arm])
        assert [study.ask().arm for _ in range(3)] == [*"abcab"[first : first + 3]]
