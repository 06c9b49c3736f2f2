"""What is read from a file, and what is refused before it costs time or memory."""

import json
import os
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from mislid.verification import reading, verify


def small(**changes: Any) -> dict[str, Any]:
    """Two candidates, of which the second is proved to be better."""
    found: dict[str, Any] = {
        "format": 1,
        "study": {"name": "assay", "head": None},
        "question": {
            "labels": ["a", "b"], "features": None, "m": 1, "delta": 0.05, "tolerance": 0,
            "direction": "maximize", "misspecification": None,
            "noise": {"kind": "known", "sd": [0.5]},
        },
        "changes": [],
        "data": {"arm": [0, 1] * 30, "value": [0.1, 0.9] * 30, "count": None, "squares": None},
        "claim": {"answer": ["b"], "pairs": [[0, 1, "two arms", 60]]},
    }  # fmt: skip
    for key, value in changes.items():
        found[key] = {**found[key], **value} if isinstance(value, dict) else value
    return found


def failure_of(given: Any) -> str:
    """Why something is no certificate, in one sentence, soon and with little memory."""
    tracemalloc.start()
    began = time.perf_counter()
    outcome = verify(given)
    assert time.perf_counter() - began < 20.0
    assert tracemalloc.get_traced_memory()[1] < 500e6
    tracemalloc.stop()
    assert (outcome.ok, outcome.proven, outcome.answer) == (False, False, ())
    assert outcome.failure is not None
    assert "\n" not in outcome.failure
    assert len(outcome.failure) < 300
    return outcome.failure


@pytest.mark.parametrize("given", [None, 3, 2.5, True, b"file.json", [], [{}], object(), ...])
def test_things_that_are_no_certificates(given: Any) -> None:
    assert failure_of(given).startswith("certificate must be the path of a file, or a mapping; got")


def test_a_file_a_mapping_and_an_object(tmp_path: Path) -> None:
    class Certificate:
        def to_dict(self) -> dict[str, Any]:
            return small()

    (tmp_path / "file.json").write_text(json.dumps(small()))
    found = [verify(given) for given in (tmp_path / "file.json", small(), Certificate())]
    assert found[0] == found[1] == found[2]
    assert str(found[0]) == (
        "'b' is the best of 2 candidates (larger is better), wrong with probability at most 5 %, "
        "if the values are independent, with standard deviation at most 0.5 (sub-Gaussian). The "
        "data do not contradict these assumptions. 60 values; study 'assay'. What a file cannot "
        "show: that these values were measured, in this order, and that none was left out."
    )
    assert found[0].to_dict()["answer"] == ["b"]


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a": ' + b"7" * 2_000_000 + b"}", "over 1000 digits"),
        (b'{"a": 0.' + b"7" * 2_000_000 + b"}", "over 1000 digits"),
        (b'{"a": ' + b"7" * 4000 + b"}", "over 1000 digits"),
        (b'{"a": 1, "b": 2, "a": 3}', "a key twice"),
        (b"[" * 10 + b"1" + b"]" * 10, "certificate must be an object"),
        (b'"' + b"\\" * 1_000_001, "not JSON"),
        (b'["' + b"[" * 100_000 + b'"]', "certificate must be an object"),
        (b'["' + b'\\"' * 64_000 + b'", [', "not JSON"),
        (b'{"format": "' + b"\\\\" * 64_000 + b'"}', "format must be an integer from 1 to 1"),
        (b"[" + b"0," * 6_000_000 + b"0]", "at most 5000000 commas"),
        (b"[" + b"[]," * 600_000 + b"0]", "500000 lists"),
        (b'{"format": NaN}', "NaN is not a number of JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (b"", "not JSON"),
        (b'{"format": 1' + b"0" * 300 + b"}", "format must be an integer from 1 to 1"),
    ],
)
def test_files_that_would_take_long_to_parse(content: bytes, failure: str, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(content)
    assert failure in failure_of(tmp_path / "file.json")


def test_digits_across_the_chunks_of_the_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps(small())
    for size in (7, 64, len(text)):
        monkeypatch.setattr(reading, "CHUNK", size)
        (tmp_path / "file.json").write_text(text)
        assert verify(tmp_path / "file.json").proven
        (tmp_path / "file.json").write_text(text.replace("0.9", "0." + "9" * 1001, 1))
        assert "over 1000 digits" in failure_of(tmp_path / "file.json")
        (tmp_path / "file.json").write_text(text.replace("0.9", "[" * 17, 1))
        assert "nested too deeply" in failure_of(tmp_path / "file.json")
        (tmp_path / "file.json").write_text(text.replace('"assay"', '"' + '[\\"' * 18 + '"', 1))
        assert verify(tmp_path / "file.json").proven


def test_files_that_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(small())
    (tmp_path / "file.json").write_text(text)
    monkeypatch.setattr(reading, "MOST_BYTES", len(text))
    assert verify(tmp_path / "file.json").ok
    monkeypatch.setattr(reading, "MOST_BYTES", len(text) - 1)
    assert failure_of(tmp_path / "file.json") == f"the file must have at most {len(text) - 1} bytes"


def test_a_file_without_an_end_or_a_writer(tmp_path: Path) -> None:
    for path in filter(os.path.exists, ["/dev/zero", "/dev/null", "/dev/tty"]):
        assert failure_of(path).startswith("the file cannot be read")
    os.mkfifo(tmp_path / "pipe")
    assert failure_of(tmp_path / "pipe") == "the file cannot be read: it is no regular file"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path, tmp_path / "loop", tmp_path / "absent", "a\0b", "", "x" * 5000):
        assert failure_of(path).startswith("the file cannot be read")


def test_values_that_are_deep_or_turn_back() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    around: dict[str, Any] = small()
    around["changes"] = around
    for place in small():
        assert failure_of({**small(), place: deep})
    assert failure_of(around)
    while deep:  # without recursion
        deep = deep[0]


@pytest.mark.parametrize(
    ("changes", "failure"),
    [
        ({"format": 2}, "format must be an integer from 1 to 1; got 2"),
        ({"more": 1}, "certificate must have no entry 'more'"),
        ({"study": {"head": "3f9a"}}, "study.head must be 64 hexadecimal digits; got '3f9a'"),
        ({"question": {"labels": ["a", "a"]}}, "question.labels must be at least two labels"),
        ({"question": {"m": 2}}, "question.m must be an integer from 1 to 1; got 2"),
        ({"question": {"delta": 1.0}}, "question.delta must be above 0 and at most 1; got 1.0"),
        ({"question": {"tolerance": -1}}, "question.tolerance must be at least 0"),
        ({"question": {"misspecification": 0.1}}, "question.misspecification must be null"),
        ({"question": {"noise": {"kind": "known", "sd": [0.0]}}}, "question.noise.sd[0] must be"),
        ({"question": {"noise": {"kind": "cauchy"}}}, "question.noise.kind must be one of known"),
        ({"data": {"value": [1e80] * 60}}, "data.value[0] must be at least -1e+75"),
        ({"data": {"value": [0.1] * 59}}, "data.value must have 60 entries; got 59"),
        ({"data": {"arm": [2] * 60}}, "data.arm[0] must be an integer from 0 to 1; got 2"),
        ({"data": {"count": [10**300] * 60}}, "data.count[0] must be an integer from 1 to"),
        ({"data": {"squares": [1.0] * 60}}, "data.squares[0] must be 0 of one value"),
        ({"claim": {"answer": ["a"]}}, "claim.pairs[0] must be a candidate outside the answer"),
        ({"claim": {"answer": ["c"]}}, "claim.answer[0] must be the label of a candidate"),
        ({"claim": {"pairs": []}}, "claim.pairs must have 1 entries; got 0"),
        ({"claim": {"pairs": [[0, 1, "linear", 60]]}}, "claim.pairs[0][2] must be one of two arms"),
        ({"claim": {"pairs": [[0, 1, "two arms", 61]]}}, "claim.pairs[0][3] must be an integer"),
        ({"claim": {"pairs": [[0, 1, "two arms", 4]]}}, "claim.pairs[0] must have evidence of at"),
        ({"changes": [{"after": 0, "kind": "leave", "label": "a"}]}, "changes must leave more"),
        ({"changes": [{"after": 0, "kind": "go"}]}, "changes[0].kind must be one of add, leave"),
    ],
)
def test_failures_name_the_entry(changes: dict[str, Any], failure: str) -> None:
    assert failure_of(small(**changes)).startswith(failure)


def test_values_of_a_range_and_of_candidates_that_came() -> None:
    noise = {"kind": "bernoulli"}
    assert "within the range" in failure_of(
        small(question={"noise": noise}, data={"value": [0, 2] * 30})
    )
    assert "values 0 and 1" in failure_of(small(question={"noise": noise}))
    added = {"after": 2, "kind": "add", "labels": ["c"], "features": None, "sd": None}
    early = {"arm": [0, 2] * 30}
    failure = failure_of(small(changes=[added], data=early))
    assert failure == "data.arm[1] must be that of a candidate that had arrived; got 2"


def test_measured_arms_need_not_span_the_features() -> None:
    question = {"labels": ["a", "b", "c"], "features": [[1, 0], [2, 0], [0, 1]]}
    question |= {"misspecification": 0.5}
    claim = {"answer": ["b"], "pairs": [[0, 1, "two arms", 60], [2, 1, "two arms", 60]]}
    assert "claim.pairs[1] must have evidence" in failure_of(small(question=question, claim=claim))
    leave = [{"after": 0, "kind": "leave", "label": "c"}]
    claim = {"answer": ["b"], "pairs": [[0, 1, "two arms", 60]]}
    assert verify(small(question=question, claim=claim, changes=leave)).proven
    claim["pairs"][0][2] = "linear"
    assert "it has -inf" in failure_of(small(question=question, claim=claim, changes=leave))


def test_a_claim_of_nothing_is_sound() -> None:
    found = verify(small(claim={"answer": [], "pairs": []}))
    assert (found.ok, found.proven, found.reason) == (True, False, "the file claims no answer")
    assert str(found).startswith("Nothing is proved of which 1 of 2 candidates are best")


def test_what_would_take_minutes_is_refused_or_done_in_seconds() -> None:
    for K, sentence in ((2000, "between 1 and 500000 numbers"), (700, "operations")):
        labels = [f"arm {k}" for k in range(K)]
        one_hot = [[float(i == k) for i in range(K)] for k in range(K)]
        question = {"labels": labels, "features": one_hot, "misspecification": 0.0}
        claim = {"answer": [], "pairs": []}
        assert sentence in failure_of(small(question=question, claim=claim))
    huge = {"count": [2**46] * 60, "squares": [0.0] * 60}
    assert verify(small(data=huge)).ok
    for kind in ("unknown", "unknown-equal", "range"):
        noise = {"kind": kind} | ({"low": 0, "high": 1} if kind == "range" else {})
        began = time.perf_counter()
        verify(small(data=huge | {"squares": [2.0**44] * 60}, question={"noise": noise}))
        assert time.perf_counter() - began < 10.0
    came = [
        {"after": 0, "kind": "add", "labels": [f"new {k}"], "features": None, "sd": None}
        for k in range(5_000)
    ]
    left = [{"after": 0, "kind": "leave", "label": f"new {k}"} for k in range(5_000)]
    began = time.perf_counter()
    assert verify(small(changes=came + left, claim={"answer": [], "pairs": []})).ok
    assert time.perf_counter() - began < 10.0
    assert failure_of(small(study={"name": "x" * 128_000})).startswith("study.name must be at most")
