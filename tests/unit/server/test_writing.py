"""What changes studies: each call once, and nothing else gets in."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from helpers.serving import Site, running, tell_some
from mislid.study import Study
from mislid.study.storage import as_storage

ASK, TELL = "/api/studies/1/ask", "/api/studies/1/tell"


def done(answer: Any) -> Any:
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def kinds(study: Study) -> list[str]:
    return [type(event.fact).__name__ for event in study.events()]


def test_a_retried_call_counts_once(writing: Site, study: Study) -> None:
    key = {"idempotency-key": "7"}
    asked = [done(writing.post(ASK, {"n": 2}, headers=key)) for _ in range(3)]
    assert asked[0] == asked[1] == asked[2]
    (first, second) = asked[0]["trials"]
    for _ in range(3):
        body = {"trial": first["id"], "value": 0.5}
        done(writing.post(TELL, body, headers={"idempotency-key": "8"}))
        done(writing.post(TELL, {"trial": second["id"], "value": 0.25, "key": "9"}))
    assert kinds(study) == ["Created", "Asked", "Told", "Told"]
    other = writing.post(TELL, {"trial": first["id"], "value": 0.75})
    assert (other.status_code, other.json()["error"]["kind"]) == (409, "ConflictingTellError")


def test_tells_at_once_count_once(writing: Site, study: Study) -> None:
    trials = done(writing.post(ASK, {"n": 8}))["trials"]
    bodies = [{"trial": one["id"], "value": 0.5, "key": str(one["id"])} for one in trials] * 4
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda body: done(writing.post(TELL, body)), bodies))
    assert study.samples == 8
    assert kinds(study) == ["Created", "Asked"] + ["Told"] * 8


def test_two_servers_of_one_file(writing: Site, study: Study, tmp_path: Path) -> None:
    """Each trial is handed out once, and what both are told with one key counts once."""
    with closing(as_storage(tmp_path / "lab.db")) as second, running(second, write=True) as other:
        sites = (writing, other)

        def measure(number: int) -> list[int]:
            first, then = sites[number % 2], sites[1 - number % 2]
            key = {"idempotency-key": f"ask {number}"}
            asked = [done(one.post(ASK, {"n": 2}, headers=key)) for one in (first, then)]
            assert asked[0] == asked[1]
            found = [int(one["id"]) for one in asked[0]["trials"]]
            for trial in found:
                body = {"trial": trial, "value": 0.5, "key": f"tell {trial}"}
                assert all(done(one.post(TELL, body)) for one in (first, then))
            return found

        with ThreadPoolExecutor(4) as pool:
            trials = [one for found in pool.map(measure, range(8)) for one in found]
        last = len(study.events())
        assert sorted(trials) == list(range(16))
        assert study.samples == 16
        for site in sites:
            assert site.numbers(1, last, after="0") == list(range(1, last + 1))
            assert site.json("/api/studies/1")["state"]["samples"] == 16
        another = {"trial": trials[0], "value": 0.7, "key": "ask 0"}
        assert other.post(TELL, another).status_code == 422


def test_a_study_is_begun_once_for_a_key(writing: Site) -> None:
    body = {"candidates": ["a", "b"], "m": 1, "noise": 1.0}
    key = {"idempotency-key": "first"}
    made = [done(writing.post("/api/studies", body, headers=key)) for _ in range(2)]
    assert made[0] == made[1]
    other = done(writing.post("/api/studies", body))
    assert other["id"] != made[0]["id"]
    named = {**body, "study_name": "assay"}
    assert writing.post("/api/studies", named).status_code == 409
    assert writing.post("/api/studies", named, headers=key).status_code == 422  # other settings


NASTY: list[Any] = [
    None, True, -1, 0, 2**70, 1e308, "", "x", "\ud800", "\x00", [], [1], {}, {"a": 1},
    [[1]], "/etc/passwd", "sqlite:///x.db", [None], "9" * 5000,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("call", ["ask", "tell", "correct", "void", "create"])
def test_nonsense_is_refused_in_one_sentence(writing: Site, study: Study, call: str) -> None:
    tell_some(study, 1)
    usual: dict[str, dict[str, Any]] = {
        "ask": {"n": 1, "worker": "w", "lease": 5, "max_candidates": 1, "max_per_candidate": 1}
        | {"replicates": 1},
        "tell": {"trial": 0, "value": 0.5, "state": "complete", "n": 1, "sd": 1.0},
        "correct": {"trial": None, "row": 0, "value": 0.5, "reason": "r"},
        "void": {"trial": None, "row": 0, "reason": "r"},
        "create": {
            "candidates": ["a", "b"], "m": 1, "delta": 0.1, "misspecification": None, "noise": 1.0,
            "tolerance": 0.0, "direction": "maximize", "seed": 0, "algorithm": "mislid",
            "stopping": "guaranteed", "columns": None, "intercept": None,
            "budget": None, "cost": None, "study_name": None,
        },
    }  # fmt: skip
    path = "/api/studies" if call == "create" else f"/api/studies/1/{call}"
    for name in (*usual[call], "key", "storage"):
        for value in NASTY:
            answer = writing.post(path, {**usual[call], name: value})
            assert answer.status_code in (200, 201, 404, 409, 422), (name, value, answer.text)
            assert "Traceback" not in answer.text
            if name == "storage":
                assert answer.status_code == 422


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"1", b"null", b'"x"', b"\xff", b"[" * 100_000, b'{"value": ' + b"9" * 9999],
)
def test_what_is_no_object_is_refused(writing: Site, content: bytes) -> None:
    answer = writing.client.post(TELL, content=content)
    assert answer.status_code == 422
    assert "the request must be" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "content", "key"),
    [
        (TELL, b'{"trial": 0, "value": 0.5, "value": 0.7}', "'value'"),
        (TELL, b'{"trial": 0, "value": 0.5, "k\\u0065y": "1", "key": "1"}', "'key'"),
        ("/api/studies", b'{"candidates": {"a": [0], "b": [1], "a": [2]}, "m": 1}', "'a'"),
    ],
)
def test_a_key_that_comes_twice_is_refused(
    writing: Site, study: Study, path: str, content: bytes, key: str
) -> None:
    """Otherwise a measurement might be dropped in silence."""
    tell_some(study, 1)
    answer = writing.client.post(path, content=content)
    assert answer.status_code == 422
    said = answer.json()["error"]["message"]
    assert said == f"the request must have each key once; got {key} twice"
    assert kinds(study) == ["Created", "Asked", "Told"]
