"""Notebooks show studies and results in short, and names as text."""

import mislid
from mislid.forecast.evidence import estimate_rows

NAME = '<script>alert("x")</script>'


def study(values: float = 0.0) -> mislid.Study:
    made = mislid.create_study(study_name=NAME, candidates=[NAME, "b"], m=1, noise=0.1)
    if values:
        made.add_observations([(NAME, values), ("b", 0.0)] * 9)
    return made


def test_names_are_text() -> None:
    decided = study(1.0)
    assert decided.status == "decided"
    for record in (
        decided,
        decided.result,
        decided.result_now(),
        estimate_rows(decided.overview())[0],
    ):
        shown = record._repr_html_()
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown
