"""Texts that control a terminal are refused where they are new, and escaped where they are old."""

from collections.abc import Callable
from typing import Any

import pytest

import mislid
from mislid._formatting import visible
from mislid.errors import ProblemError
from mislid.study import Study

CONTROLS = ("\n", "\r", "\x1b[2K", "\x00", "\x7f", "\x9b2J", "\x85", "\u2028", "\u2029")
FORMATS = ("\u202e", "\u200b", "\u200f", "\ufeff", "\U000e0041")
SURROGATES = ("\ud800", "\udcff")
STRANGE = (*CONTROLS, *FORMATS, *SURROGATES)
GOOD = (
    "tea",
    "grüner Tee 2 µM",
    "\u0645\u06cc\u200c\u062e",
    "👩\u200d🔬",
    "non\u00a0breaking",
    "茶",
)


def create(**changes: Any) -> Study:
    given = {"study_name": "s", "candidates": ["a", "b"], "m": 1, "noise": 1.0}
    return mislid.create_study(**(given | changes))


def named(text: str) -> object:
    return create(study_name=text)


def copied(text: str) -> object:
    lab = mislid.study.storage.MemoryStorage()
    create(storage=lab)
    return mislid.copy_study(
        from_study_name="s", from_storage=lab, to_storage=lab, to_study_name=text
    )


def labelled(text: str) -> object:
    return create(candidates=["a", text])


def tabled(text: str) -> object:
    return create(candidates={"a": [1.0], text: [2.0]}, misspecification=0.1)


def added(text: str) -> object:
    return create().add_candidates([text])


def asked(text: str) -> object:
    return create().ask(worker=text)


def looped(text: str) -> object:
    return create().optimize(lambda trial: 0.0, worker=text, n_trials=1)


def reasoned(text: str) -> object:
    study = create()
    study.add_observations([("a", 0.5)])
    return study.void(row=0, reason=text)


WAYS = [
    (named, "study_name", 100),
    (copied, "study_name", 100),
    (labelled, "the labels of candidates", 200),
    (tabled, "the labels of candidates", 200),
    (added, "the labels of candidates", 200),
    (asked, "worker", 100),
    (looped, "worker", 100),
    (reasoned, "reason", 1_000),
]
each_way = pytest.mark.parametrize(("way", "argument", "most"), WAYS)
Way = Callable[[str], object]


@each_way
@pytest.mark.parametrize("bad", STRANGE)
def test_control_characters_are_refused(way: Way, argument: str, most: int, bad: str) -> None:
    with pytest.raises(ProblemError) as refused:
        way(f"te{bad}a")
    said = str(refused.value)
    assert said.startswith(f"{argument} must be ")
    assert said == visible(said)
    assert repr(bad)[1:-1] in said


@each_way
def test_lengths_are_limited(way: Way, argument: str, most: int) -> None:
    way("x" * most)
    with pytest.raises(ProblemError, match=f"^{argument} must have at most {most:,} characters"):
        way("x" * (most + 1))


@each_way
@pytest.mark.parametrize("good", GOOD)
def test_other_characters_are_kept(way: Way, argument: str, most: int, good: str) -> None:
    way(good)
    assert visible(good) == good


@pytest.mark.parametrize("bad", STRANGE)
def test_what_is_shown_moves_no_cursor(bad: str) -> None:
    assert visible(f"te{bad}a") == f"te{repr(bad)[1:-1]}a"
    assert visible(visible(bad)) == visible(bad)
