"""How many files a reader has to open to follow a call."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import mislid

PACKAGE = Path(mislid.__file__).parent
FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


def files_crossed(call: Callable[[], object]) -> set[str]:
    """Files of the package whose functions run in Python; what is compiled is one call."""
    found: set[str] = set()

    def look(frame: FrameType, event: str, _argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            found.add(path.relative_to(PACKAGE).as_posix())

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def test_a_run_crosses_few_files() -> None:
    model = mislid.Model(FEATURES, misspecification=0.1)
    instance = mislid.Instance(model, [0.4, 0.5, 0.8], noise=0.2)
    mislid.identify(instance, m=1)  # imports and compiles
    crossed = files_crossed(lambda: mislid.identify(instance, m=1, seed=1))
    assert "engine/engine.py" in crossed
    assert len(crossed) <= 12, sorted(crossed)


def test_a_question_crosses_few_files() -> None:
    study = mislid.create_study(
        candidates=FEATURES, m=1, noise=0.2, misspecification=0.1, intercept=False
    )
    for value in (0.3, 0.4):
        study.tell(study.ask(), value)
    crossed = files_crossed(study.ask)
    assert "study/session.py" in crossed
    assert len(crossed) <= 8, sorted(crossed)
