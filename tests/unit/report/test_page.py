"""The page about a study, by parsing it."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import mislid
from helpers.report_studies import (
    MEANS,
    changed,
    decided_study,
    new_study,
)
from mislid import report as page_module
from mislid.errors import ContradictedWarning
from mislid.forecast import Overview, StudyWarning
from mislid.report import page, write_report
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
    return Page(page(seen.overview() if isinstance(seen, Study) else seen))


def test_a_decided_study(finished: Study, decided_overview: Overview) -> None:
    found = Page(page(decided_overview))
    result = finished.result
    assert result is not None
    assert found.text().startswith(
        "assay: a study assay Which of 5 candidates has the largest mean?"
    )
    assert f"Decided after {result.samples:,} measurements by the rule “guaranteed”" in found.text()
    assert "proven to be at most 5%" in found.text()
    assert "No guarantee" not in found.text()
    pictures = ["means with confidence intervals, and shares"]
    assert found.pictures == pictures
    assert [tag for tag, _ in found.seen].count("svg") == 1


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
        assert mean == pytest.approx(values.mean(), rel=0.000501)  # four digits
        assert [low, high] == pytest.approx(ends[label], rel=0.000501)
        assert abs(estimate - mean) < 0.3
        assert (inside == "yes") == (label == "c")


def test_the_answer_comes_first_whatever_came_later() -> None:
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
    assert "The study had decided for" in text
    study = decided_study()
    study.add_observations([("c", MEANS["c"])])
    assert "1 measurement came later. They agree with the answer." in read(study).text()


NASTY = ['<script>alert("1")</script>', "a & b", "'; --", "$\\frac{1}{0}$", "tab\there", "\x1b[31m"]


def test_every_label_and_name_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    # A log of others may have labels that are refused today.
    monkeypatch.setattr("mislid.study.candidates.refuse_controls", lambda *_: None)
    features = {label: [1.0, float(k)] for k, label in enumerate(NASTY)}
    study = new_study(study_name="<i>name</i>", candidates=features, m=2)
    study.add_observations([(label, float(k)) for k, label in enumerate(NASTY)] * 30)
    assert study.status == "decided"
    warning = StudyWarning("<u>noise", "<b>&")
    text = page(changed(study.overview(), warnings=(warning,)))
    found = Page(text)
    assert not {"script", "i", "u", "b"} & {tag for tag, _ in found.seen}
    assert "\x1b" not in text
    labels = [row[0] for row in found.table("candidate")]
    assert set(labels[2:]) >= {'<script>alert("1")</script>', "a & b", "'; --", "$\\frac{1}{0}$"}
    assert "\\x1b[31m" in found.text("p")
    assert "<i>name</i>" in found.text("h1")
    assert "<u>noise. <b>&" in found.text("li")


def test_nothing_is_fetched_and_nothing_runs(decided_overview: Overview) -> None:
    text = page(decided_overview)
    assert "http" not in text
    assert not re.search(r"<(script|link|img|iframe|object)|@import|url\((?!#)|javascript:", text)
    ids = re.findall(r' id="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', text)) <= set(ids)


def test_the_same_study_gives_the_same_page(finished: Study, tmp_path: Path) -> None:
    write_report(finished, tmp_path / "one.html")
    write_report(finished, str(tmp_path / "two.html"))
    first, second = ((tmp_path / name).read_bytes() for name in ("one.html", "two.html"))
    assert first == second
    assert first.decode().startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.html", "two.html"]


@pytest.mark.slow
def test_a_page_is_of_one_moment_while_others_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = new_study(storage=tmp_path / "lab.db", noise=1.0)
    study.add_observations(list(MEANS.items()) * 3)
    other = mislid.load_study(storage=tmp_path / "lab.db")
    before = page(study.overview())

    def between(part: Any) -> Any:
        def telling(overview: Overview) -> Any:
            other.tell(other.ask(), 0.2)
            study.add_observations([("a", 0.1)])
            return part(overview)

        return telling

    for name in ("summary", "draw_candidates"):
        part = getattr(page_module, name)
        monkeypatch.setattr(page_module, name, between(part))
    assert page(study.overview()) == before
    assert study.samples == 15 + 2 * 2
    assert page(study.overview()) != before
    for opened in (study, other):
        opened._session.storage.close()
