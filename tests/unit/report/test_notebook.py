"""Notebooks show studies and results in short, and names as text."""

import mislid

NAME = '<script>alert("x")</script>'


def study(values: float = 0.0) -> mislid.Study:
    made = mislid.create_study(study_name=NAME, candidates=[NAME, "b"], m=1, noise=0.1)
    if values:
        made.add_observations([(NAME, values), ("b", 0.0)] * 9)
    return made


def test_a_study_that_runs() -> None:
    shown = study()._repr_html_()
    assert "Nothing has been measured yet." in shown
    assert "Which of 2 candidates has the largest mean?" in shown


def test_names_are_text() -> None:
    decided = study(1.0)
    assert decided.status == "decided"
    for record in (decided, decided.result, decided.result_now(), decided.estimate_rows()[0]):
        shown = record._repr_html_()
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown


def test_a_run() -> None:
    instance = mislid.Instance(mislid.Model([[1.0, 0.0], [0.0, 1.0]], 0.0), [1.0, 0.0], 0.1)
    found = mislid.identify(instance, 1, seed=0)
    shown = found._repr_html_()
    assert f'<th scope="row">samples</th><td>{found.samples}</td>' in shown
    assert '<th scope="row">answer</th><td>0</td>' in shown
