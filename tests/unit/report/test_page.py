"""The page about a study, by parsing it."""

import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mislid
from helpers.report_studies import (
    MEANS,
    OBJECTS,
    changed,
    decided_study,
    dial,
    dial_row,
    new_study,
    progress,
    ruled_by_objects,
    what_if,
)
from mislid.errors import ContradictedWarning, MissingPackageError, ProblemError
from mislid.forecast.diagnostics import StudyWarning
from mislid.forecast.overview import Overview
from mislid.plotting import draw_candidates
from mislid.report import page as page_module
from mislid.report import report, write_report
from mislid.report.page import page
from mislid.report.style import COLOURS, as_markup
from mislid.study import Study

VOID = {"meta", "br"}


class Page(HTMLParser):
    """Reads a page; whatever is not well-formed fails."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self.tables: list[list[list[str]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self.open), data))
        if {"th", "td"} & set(self.open):
            self.tables[-1][-1][-1] += data

    def text(self, *inside: str) -> str:
        """All text inside elements of these names, or of the body without its pictures."""
        wanted = [
            data
            for path, data in self.texts
            if (set(inside) & set(path) if inside else not {"style", "svg"} & set(path))
        ]
        return " ".join(" ".join(wanted).split())

    def table(self, head: str) -> list[list[str]]:
        """The rows of the table with this heading in it."""
        (found,) = [table for table in self.tables if head in table[0]]
        return found[1:]

    @property
    def settings(self) -> dict[str, str]:
        """The last table, of settings and versions."""
        return dict(self.tables[-1][1:])

    @property
    def pictures(self) -> list[str | None]:
        return [given["aria-label"] for _, given in self.seen if given.get("role") == "img"]


def read(seen: Study | Overview) -> Page:
    return Page(report(seen) if isinstance(seen, Study) else page(seen))


def test_a_decided_study(finished: Study, decided_overview: Overview) -> None:
    found = Page(page(decided_overview))
    result = finished.result
    assert result is not None
    assert "Which of 5 candidates has the largest mean?" in found.text("h1")
    assert found.text().startswith("assay: a study assay: Which of 5")
    assert f"Decided after {result.samples:,} measurements by the rule “guaranteed”" in found.text()
    assert "proven to be at most 5%" in found.text()
    assert "No guarantee" not in found.text()
    pictures = ["means with confidence intervals, and shares", "evidence over time", "forecast"]
    assert found.pictures == pictures
    assert [tag for tag, _ in found.seen].count("svg") == 3


def test_the_table_has_the_numbers_of_the_study(
    finished: Study, decided_overview: Overview
) -> None:
    rows = Page(page(decided_overview)).table("candidate")
    observed = finished.observations().groupby("arm").value
    ends = dict(zip("abcde", decided_overview.intervals.tolist(), strict=True))
    assert {row[0] for row in rows} == set(MEANS)
    for label, count, *numbers, inside in rows:
        values = observed.get_group(label)
        mean, low, high, estimate = (float(text.replace("\N{MINUS SIGN}", "-")) for text in numbers)
        assert int(count) == len(values)
        # Two decimals: as many digits as an interval's half width has that matter.
        assert mean == pytest.approx(values.mean(), abs=0.00501)
        assert [low, high] == pytest.approx(ends[label], abs=0.00501)
        assert abs(estimate - mean) < 0.3
        assert (inside == "yes") == (label == "c")


class TestAgreementWithTheDecision:
    def test_no_more_is_needed_than_was_taken(self, decided_overview: Overview) -> None:
        taken = decided_overview.samples
        said = replace(decided_overview.progress, lower_bound=1000.0 * taken)
        others = (
            what_if(50, 40, 60, delta=0.01),
            what_if(70, 40, 90, delta=0.1),
            what_if(70, 40, 90, tolerance=0.2),
            what_if(70, 40, 90, misspecification=0.05),
        )
        asked = tuple(replace(one, m=1) for one in others)
        seen = changed(decided_overview, progress=said, what_ifs=asked)
        text = page(seen)
        found = Page(text)
        rows = {row[0]: row[1] for row in found.table("more measurements")}
        assert rows.pop("error rate 0.01") == "50"
        assert list(rows.values()) == ["0"] * 4
        assert "least for any method" not in text
        assert "The least that any method" not in found.text()
        running = replace(decided_overview.summary, status="running")
        before = changed(seen, summary=running, decision=None)
        assert "least for any method" not in page(before)  # nor against the forecast
        near = changed(before, progress=progress(9, 5, None, lower_bound=30.0))
        assert "least for any method" in page(near)

    def test_the_answer_comes_first_whatever_came_later(self) -> None:
        study = decided_study()
        answer = study.result.answer[0] if study.result else ""
        with pytest.warns(ContradictedWarning):
            study.add_observations([("a", 9.0)] * 2000)
        seen = study.overview()
        assert seen.names(seen.best_now) != (answer,)
        labels = [row[0] for row in Page(page(seen)).table("candidate")]
        assert labels[0] == answer
        others = [label for label in labels if label != answer]
        by_estimate = sorted(others, key=lambda label: -seen.estimates["abcde".index(label)])
        assert others == by_estimate
        assert sorted(labels) == list("abcde")


def test_settings_versions_and_fingerprints_are_named(decided_overview: Overview) -> None:
    rows = Page(page(decided_overview)).settings
    assert rows["m"] == "1"
    assert rows["misspecification"] == "0.1"
    assert rows["stopping"].startswith("guaranteed (proven: ")
    assert rows["candidates"] == "5, with 2 features"
    assert f"mislid {mislid.__version__}, NumPy {np.__version__}" in rows["written by"]
    assert rows["SHA-256 of the log"] == decided_overview.fingerprint
    assert rows["SHA-256 of the candidates"] == decided_overview.candidates_fingerprint
    assert "mean bound" not in rows


def test_a_running_study(running_overview: Overview) -> None:
    found = Page(page(running_overview))
    assert "Not decided yet." in found.text()
    assert "30 measurements so far" in found.text()
    assert "2 trials are open." in found.text()
    best = [running_overview.labels[arm] for arm in running_overview.best_now]
    assert f"In front now: {' and '.join(best)}." in found.text()
    marked = {row[0] for row in found.table("candidate") if row[-1] == "yes"}
    assert marked == set(best)


def test_an_empty_study() -> None:
    found = read(new_study())
    assert "Nothing has been measured yet." in found.text()
    assert found.pictures == ["means with confidence intervals, and shares"]
    assert [row[1:] for row in found.table("candidate")] == [["0", "", "", "", "", ""]] * 5


def test_a_study_that_minimises() -> None:
    study = decided_study(-1.0, direction="minimize")
    found = read(study)
    assert "has the smallest mean?" in found.text("h1")
    first = found.table("candidate")[0]
    assert first[0] == "c"
    assert first[2].startswith("\N{MINUS SIGN}0.")
    low, high = (float(text.replace("\N{MINUS SIGN}", "-")) for text in first[3:5])
    assert low < high < 0.0


@pytest.mark.parametrize("stopping", ["heuristic", "paper-printed"])
def test_a_rule_without_a_proof_is_labelled(stopping: str) -> None:
    for study in (new_study(stopping=stopping), decided_study(stopping=stopping)):
        found = read(study)
        assert f"No guarantee. The stopping rule “{stopping}”" in found.text()
        assert "proven to be" not in found.text()
        assert "≤ 5%" not in found.text()
        assert found.settings["stopping"].startswith(f"{stopping} (no guarantee)")


def test_later_data_that_disagree_are_reported() -> None:
    study = decided_study()
    late = [("a", 50.0 + 0.01 * (-1) ** n) for n in range(500)]
    with pytest.warns(ContradictedWarning):
        study.add_observations(late)
    text = read(study).text()
    assert "The data contradict what was declared: nothing is proven." in text
    assert "Before that, the study had decided for" in text
    study = decided_study()
    study.add_observations([("c", MEANS["c"])])
    assert "1 measurement came later. They agree with the answer." in read(study).text()


def test_ties_have_no_optimal_allocation() -> None:
    study = new_study(candidates=["x", "y"])
    study.add_observations([("x", 1.0), ("y", 1.0)])
    assert "The optimal shares were left out: the mean at place m=1" in read(study).text()


NASTY = ['<script>alert("1")</script>', "a & b", "'; --", "$\\frac{1}{0}$", "tab\there", "\x1b[31m"]


def test_every_label_and_name_is_escaped() -> None:
    features = {label: [1.0, float(k)] for k, label in enumerate(NASTY)}
    study = new_study(study_name="<i>name</i>", candidates=features, m=2)
    study.add_observations([(label, float(k)) for k, label in enumerate(NASTY)] * 30)
    assert study.status == "decided"
    warning = StudyWarning("<u>noise", "<b>&", 0.05, 2.0, 1.0)
    sensitivity = dial(0.1, dial_row(0.1, (NASTY[0],), 2.0, True))
    text = page(changed(study.overview(), warnings=(warning,), sensitivity=sensitivity))
    found = Page(text)
    assert not {"script", "i", "u", "b"} & {tag for tag, _ in found.seen}
    assert "\x1b" not in text
    labels = [row[0] for row in found.table("candidate")]
    assert set(labels[2:]) >= {'<script>alert("1")</script>', "a & b", "'; --", "$\\frac{1}{0}$"}
    assert "\ufffd[31m" in found.text("p")
    assert "<i>name</i>" in found.text("h1")
    assert "<u>noise. <b>&" in found.text("li")
    assert found.table("if it were")[0][1] == NASTY[0]


def test_nothing_is_fetched_and_nothing_runs(decided_overview: Overview) -> None:
    text = page(decided_overview)
    assert "http" not in text
    assert not re.search(r"<(script|link|img|iframe|object)|@import|url\((?!#)|javascript:", text)
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))


def test_figures_in_a_page_follow_its_colours_and_share_no_names(
    decided_overview: Overview,
) -> None:
    drawn = [as_markup(figure, "x", "c") for figure in draw_candidates(decided_overview)]
    again = as_markup(draw_candidates(decided_overview)[0], "x", "d")
    assert not any(colour in drawn[0] for colour in COLOURS.values())
    assert "var(--best)" in drawn[0]
    defined = [set(re.findall(r' id="([^"]*)"', text)) for text in (drawn[0], again)]
    assert defined[0]
    assert not defined[0] & defined[1]
    used = set(re.findall(r'(?:href="#|url\(#)([^")]*)', drawn[0]))
    assert used <= defined[0]


def test_the_same_study_gives_the_same_page(finished: Study, tmp_path: Path) -> None:
    write_report(finished, tmp_path / "one.html")
    write_report(finished, str(tmp_path / "two.html"))
    first, second = ((tmp_path / name).read_bytes() for name in ("one.html", "two.html"))
    assert first == second
    assert first.decode().startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.html", "two.html"]


def test_a_page_is_of_one_moment_while_others_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = new_study(storage=tmp_path / "lab.db", noise=1.0)
    study.add_observations(list(MEANS.items()) * 3)
    other = mislid.load_study(storage=tmp_path / "lab.db")
    before = report(study)

    def between(part: Any) -> Any:
        def telling(overview: Overview) -> Any:
            other.tell(other.ask(), 0.2)
            study.add_observations([("a", 0.1)])
            return part(overview)

        return telling

    for name in ("headline", "key_numbers", "draw_candidates", "draw_evidence", "forecasts_of"):
        part = getattr(page_module, name)
        monkeypatch.setattr(page_module, name, between(part))
    assert report(study) == before
    assert study.samples == 15 + 5 * 2
    assert report(study) != before
    for opened in (study, other):
        opened._session.storage.close()


def test_a_forecast_is_told_drawn_and_tabled(running_overview: Overview) -> None:
    asked, other = progress(1234, 800, 2000, lower_bound=90.0), what_if(7, 5, 9, m=1)
    found = read(changed(running_overview, progress=asked, what_ifs=(other,)))
    assert "About 1,200 more are expected to be needed (between 800 and 2,000)." in found.text()
    rows = found.table("question")
    assert rows[0] == ["as asked", "1,234", "800", "2,000", ""]
    assert rows[1] == ["the best instead of 2", "7", "5", "9", ""]
    assert found.pictures[-1] == "forecast"
    open_end = changed(running_overview, progress=progress(7, 5, None))
    assert "About 7 more are expected to be needed (at least 5)." in read(open_end).text()
    early = progress(None, 3, None, note="too early: 3 are missing")
    text = read(changed(running_overview, progress=early)).text()
    assert "There is no end in sight. Too early: 3 are missing" in text


def test_the_sensitivity_is_a_table(decided_overview: Overview) -> None:
    rows = [
        dial_row(0.0, ("c",), 30.0, True),
        dial_row(0.1, ("c",), 21.0, True),
        dial_row(0.2, None, math.inf, False),
    ]
    given = dial(0.15, *rows, smallest=0.02)
    found = read(changed(decided_overview, sensitivity=given))
    assert f"By the present data: {given.statement}. Declared: 0.1." in found.text()
    assert "and stands" not in found.text()
    assert found.table("if it were") == [
        ["0", "c", "30", "20", "contradicted by the data"],
        ["0.1", "c", "21", "20", "yes"],
        ["0.2", "", "∞", "20", "no"],
    ]
    for largest in (None, 0.05):
        text = read(changed(decided_overview, sensitivity=dial(largest))).text()
        assert "was made for the declared misspecification, and stands" in text


def test_warnings_are_in_a_box(decided_overview: Overview) -> None:
    warning = StudyWarning("noise", "It varies more than declared.", 0.05, 2.0, 1.0)
    found = read(changed(decided_overview, warnings=(warning,)))
    assert "Noise. It varies more than declared." in found.text("li")
    assert any(given.get("class") == "box" for _, given in found.seen)
    silent = read(decided_overview)
    assert not any(given.get("class") == "box" for _, given in silent.seen)


def test_what_cannot_be_said_is_explained(running: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(overview: Overview) -> None:
        raise ProblemError("there are too few measurements")

    for part in ("progress", "what_ifs", "sensitivity"):
        monkeypatch.setattr(Overview, part, property(unknown))
    found = read(running)
    assert found.text().count("there are too few measurements") == 2
    assert "forecast" not in found.pictures


@pytest.mark.slow
@pytest.mark.parametrize("rules", OBJECTS)
@pytest.mark.parametrize("n_trials", [0, 12])
def test_rules_may_be_objects_also_ones_that_are_not_here(
    rules: str, n_trials: int, tmp_path: Path
) -> None:
    study = ruled_by_objects(rules, n_trials, tmp_path)
    elsewhere = mislid.load_study(storage=tmp_path / "lab.db")
    found, without = read(study).text(), read(elsewhere).text()
    assert "no forecast: the study's rules are written in Python" in without
    assert "end in sight" not in without
    assert "no forecast" not in found
    for text in (found, without):
        assert ("No guarantee." in text) is ("stopping" in OBJECTS[rules])
        assert ("In front now:" in text) is (n_trials == 12)
    for one in (study, elsewhere):
        one._session.storage.close()


@pytest.mark.parametrize("path", [".", "no/such/directory/report.html", 3])
def test_a_place_that_cannot_be_is_refused_before_any_work(path: Any) -> None:
    with pytest.raises(ProblemError, match="path must"):
        write_report(None, path)  # type: ignore[arg-type]


def test_without_matplotlib_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"mislid\[plots\]"):
        report(new_study())


@pytest.mark.slow
def test_large_studies_stay_small_pages() -> None:
    K = 103
    rng = np.random.default_rng(5)
    study = new_study(candidates={f"artist {k}": rng.normal(size=8) for k in range(K)}, m=4)
    arms = np.concatenate([np.arange(K), rng.integers(K, size=20_000 - K)])
    values = rng.normal(size=K)[arms] * 0.01 + 0.1 * rng.standard_normal(arms.size)
    pairs = zip(arms.tolist(), values.tolist(), strict=True)
    study.add_observations([(f"artist {k}", value) for k, value in pairs])
    text = report(study)
    assert len(text.encode()) < 3_000_000
    found = Page(text)
    assert len(found.table("candidate")) == K
    assert len(found.pictures) == 5
