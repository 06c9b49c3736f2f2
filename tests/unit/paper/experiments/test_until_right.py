"""Races: kept on disk run by run, taken up again, and told beside what was published."""

import numpy as np
import pytest

from mislid import Instance, Model
from mislid.errors import Interrupted, ProblemError
from mislid.paper.experiments import until_right
from mislid.paper.experiments.reliability import Reliability, reliability
from mislid.paper.experiments.until_right import Race, Racer, race_text, run_race

RACE = Race(
    "short",
    "A short one",
    Instance(Model(np.eye(3), 0.0), [1.0, 0.3, 0.0]),
    1,
    (0.2, 0.1),
    (Racer("in turn", "uniform", (20, 50)), Racer("LUCB", "lucb")),
    horizon=60,
    every=10,
    runs=8,
)


def test_runs_are_those_of_reliability_and_are_kept(tmp_path, monkeypatch) -> None:
    told = []
    found = run_race(RACE, tmp_path, tell=lambda race, racer, done, runs: told.append(done))
    plain = reliability(RACE.instance, 1, "uniform", horizon=60, every=10, runs=8)
    assert np.array_equal(found["in turn"].right, plain.right)
    assert told == [*range(9), *range(9)]
    monkeypatch.setattr(until_right, "reliability", None)  # nothing is done again
    again = run_race(RACE, tmp_path)
    assert np.array_equal(again["LUCB"].right, found["LUCB"].right)


def test_ctrl_c_keeps_finished_runs_and_half_a_line_is_dropped(tmp_path, monkeypatch) -> None:
    whole = run_race(RACE, tmp_path / "whole")
    calls = []

    def stop_at_the_fourth(*given, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return reliability(*given, **options)

    monkeypatch.setattr(until_right, "reliability", stop_at_the_fourth)
    with pytest.raises(Interrupted, match="after 3 of 8 runs of in turn, kept in"):
        run_race(RACE, tmp_path / "broken")
    place = tmp_path / "broken" / "parts" / "in-turn" / "right.txt"
    place.write_text(place.read_text() + "3 f")
    found = run_race(RACE, tmp_path / "broken")
    assert np.array_equal(found["in turn"].right, whole["in turn"].right)
    with pytest.raises(ProblemError, match="same settings"):
        run_race(RACE, tmp_path / "broken", seed=5)


def test_the_text_judges_what_was_published() -> None:
    times = np.array([10, 20, 30])
    right = np.zeros((100, 3), dtype=np.bool_)
    right[:85, 1:], right[:, 2] = True, True
    found = Reliability(times, right)
    race = Race("r", "t", RACE.instance, 1, (0.2, 0.1), (Racer("a", "lucb", (20, 90)),), 30, 10, 9)
    text = race_text(race, {"a": found})
    assert "a at delta 0.2: 20 samples against 20 published, +0.0%: agrees." in text
    assert "a at delta 0.1: 30 samples against 90 published, -66.7%: **differs**." in text
