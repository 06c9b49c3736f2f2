"""Nothing is proven that the data do not prove, whatever is changed or made up."""

from __future__ import annotations

import copy
import json
import math
import re
import time
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.honest import KINDS, honest
from helpers.tampering import branches, changed, leaves, others
from mislid.verification import Verification, verify
from oracles.certificates import Data, Study, denied

# What a sentence may have: no control characters, no new lines.
PRINTABLE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]*")
BASES = [
    (kind, features, changes, together)
    for kind in KINDS
    for features in (False, True)
    for changes, together in ((False, True), (True, False))
    if not (features and kind == "unknown")
]


@cache
def _text(case: int, seed: int = 0) -> str:
    kind, features, changes, together = BASES[case]
    rng = np.random.default_rng([3, case, seed])
    options: dict[str, Any] = {"features": features, "changes": changes, "together": together}
    options |= {"rounds": {"unknown": 60, "bernoulli": 150, "range": 40}.get(kind, 16)}
    options |= {"spread": 5.0} if kind == "unknown" else {}
    while True:
        found = honest(rng, kind, K=4, **options)
        if verify(found).proven:
            return json.dumps(found)


def base(case: int, seed: int = 0) -> dict[str, Any]:
    """An honest certificate of some kind, of its own."""
    found: dict[str, Any] = json.loads(_text(case, seed))
    return found


def examined(plain: Any) -> Verification:
    """What the checker says: one printable sentence or paragraph, and what belongs together."""
    found = verify(plain)
    for text in (found.failure or "", found.reason or "", str(found)):
        assert PRINTABLE.fullmatch(text), text
    assert found.ok == (found.failure is None)
    assert bool(found) == found.proven == (found.ok and found.reason is None)
    assert found.proven == bool(found.answer)
    json.dumps(found.to_dict())
    return found


def judged(plain: dict[str, Any]) -> bool:
    """Whether the checker proves it; if it does, the data prove it by brute force."""
    found = examined(plain)
    if found.proven:
        assert denied(plain) is None, (denied(plain), plain["claim"], plain["question"])
    return found.proven


def edits(plain: dict[str, Any], most: int) -> Iterator[dict[str, Any]]:
    """Every leaf and branch changed in every way."""
    labels = plain["question"]["labels"] + [
        label for change in plain["changes"] for label in change.get("labels", [])
    ]
    for path, value in leaves(plain, most):
        for other in others(value, labels):
            if other is not value:
                yield changed(plain, path, other)
    for path in branches(plain):
        for other in (None, [], {}, 3, "x", [None], {"a": 1}) if path else ():
            yield changed(plain, path, other)


@pytest.mark.parametrize("case", range(len(BASES)))
def test_edits_prove_nothing_that_is_wrong(case: int) -> None:
    plain = base(case)
    assert judged(plain)
    rng = np.random.default_rng(case)
    every = list(edits(plain, 4))
    for n in rng.choice(len(every), 25, replace=False):
        judged(every[n])


@pytest.mark.slow
def test_a_hundred_thousand_edits() -> None:
    """As far as three minutes go; every edit is examined, those that are proven are judged."""
    began, tried, proven = time.perf_counter(), 0, 0
    for seed in range(1000):
        for case in range(len(BASES)):
            for plain in islice(edits(base(case, seed), 9), 2000):
                tried += 1
                proven += judged(plain)
                if tried >= 100_000 or time.perf_counter() - began > 170.0:
                    assert tried > 3000
                    assert proven > tried // 200
                    return


# What a forger would make of an honest certificate.


def _swap_labels(plain: dict[str, Any]) -> None:
    labels = plain["question"]["labels"]
    labels[0], labels[1] = labels[1], labels[0]


def _declare(name: str, value: Any) -> Any:
    def forge(plain: dict[str, Any]) -> None:
        plain["question"][name] = value

    return forge


def _answer_others(plain: dict[str, Any]) -> None:
    """The worst arms, with the same pairs the other way round."""
    study = Study(plain)
    answer = {study.labels.index(label) for label in plain["claim"]["answer"]}
    worst = [k for k in study.present() if k not in answer][: study.m]
    plain["claim"]["answer"] = [study.labels[k] for k in worst]
    N = len(plain["data"]["arm"])
    plain["claim"]["pairs"] = [
        [i, j, "linear" if study.linear else "two arms", N]
        for i in study.present()
        if i not in worst
        for j in worst
    ]


def _erase_leavers(plain: dict[str, Any]) -> None:
    plain["changes"] = [one for one in plain["changes"] if one["kind"] != "leave"]


def _leave_rivals(plain: dict[str, Any]) -> None:
    """All but one of the arms outside the answer are said to have left."""
    study, claim = Study(plain), plain["claim"]
    outside = [study.labels[k] for k in study.present() if study.labels[k] not in claim["answer"]]
    for label in outside[1:]:
        plain["changes"].append({"after": 0, "kind": "leave", "label": label})
    kept = study.labels.index(outside[0])
    claim["pairs"] = [one for one in claim["pairs"] if one[0] == kept]


def _add_far(plain: dict[str, Any]) -> None:
    """An arm that was never measured, with huge features, is said to be the best."""
    study = Study(plain)
    features = None if study.X is None else [(1e9 * study.X[0]).tolist()]
    uneven = study.kind == "known" and len(set(study.sd.tolist())) > 1
    plain["changes"].append({
        "after": 0, "kind": "add", "labels": ["far"], "features": features,
        "sd": [0.1] if uneven else None,
    })  # fmt: skip
    plain["question"]["tolerance"] = 0.5
    keep = [study.labels.index(label) for label in plain["claim"]["answer"][1:]]
    plain["claim"]["answer"] = ["far", *plain["claim"]["answer"][1:]]
    N, family = len(plain["data"]["arm"]), "linear" if study.linear else "two arms"
    plain["claim"]["pairs"] = [
        [i, j, family, N] for i in study.present() if i not in keep for j in (*keep, study.R)
    ]


def _begin_early(plain: dict[str, Any]) -> None:
    for pair in plain["claim"]["pairs"]:
        pair[3] = max(pair[3] // 2, 1)


def _other_noise(kind: str) -> Any:
    def forge(plain: dict[str, Any]) -> None:
        noise: dict[str, Any] = {"kind": kind}
        if kind == "known":
            noise["sd"] = [0.01]
        if kind == "range":
            noise |= {"low": min(plain["data"]["value"]), "high": max(plain["data"]["value"])}
        plain["question"]["noise"] = noise

    return forge


def _repeat(plain: dict[str, Any]) -> None:
    N = len(plain["data"]["arm"])
    plain["data"]["count"] = [10**4] * N
    plain["data"]["squares"] = [0.0] * N


FORGERIES = [
    _swap_labels, _answer_others, _erase_leavers, _leave_rivals, _add_far, _begin_early, _repeat,
    _declare("delta", 1.0), _declare("delta", 0.999), _declare("tolerance", 100.0),
    _declare("misspecification", 0.0), _declare("m", 1), _declare("m", 2),
    _declare("direction", "minimize"), *(_other_noise(kind) for kind in KINDS),
]  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES)
@pytest.mark.parametrize("case", [0, 3, 5, 7, 9, 13])
def test_forgeries(forge: Any, case: int) -> None:
    plain = base(case)
    forge(plain)
    judged(plain)


def test_what_a_forger_says_is_printed() -> None:
    """A larger delta or tolerance proves what it says, and no more."""
    plain = base(0)
    plain["question"] |= {"delta": 0.9, "tolerance": 100.0}
    found = verify(plain)
    assert found.proven
    assert "up to 100" in str(found)
    assert "at most 90 %" in str(found)


def test_refuted_assumptions_prove_nothing() -> None:
    known, tube = base(0), base(2)
    known["question"]["noise"]["sd"] = [1e-3]
    found = verify(known)
    assert (found.ok, found.proven, found.answer) == (True, False, ())
    assert found.reason == "the data refute the declared noise"
    study = Study(tube)
    tube["data"]["value"] = [
        value + 3.0 * study.sign * ((arm % 2) - 0.5)
        for arm, value in zip(tube["data"]["arm"], tube["data"]["value"], strict=True)
    ]
    tube["claim"] = {"answer": [], "pairs": []}
    found = verify(tube)
    assert (found.ok, found.proven) == (True, False)
    assert found.reason == "the data refute the declared misspecification"


def test_a_dropped_redeclaration_proves_the_same_of_the_data() -> None:
    plain = base(0)
    plain["changes"].append({"after": 3, "kind": "redeclare", "what": "noise"})
    plain["changes"].append({"after": 4, "kind": "correct", "values": 2})
    with_log = str(verify(plain))
    assert "Before, the noise was declared again and 2 values were corrected" in with_log
    assert judged(plain)


@pytest.mark.parametrize("label", ["\x1b[2J", "a\nb", "\r", "x" * 201, "\ud800", "\x9b1m"])
def test_labels_that_are_refused(label: str) -> None:
    plain = base(0)
    plain["question"]["labels"][0] = label
    found = examined(plain)
    assert found.failure is not None
    assert found.failure.startswith("question.labels[0] must be")


def test_labels_are_printed_escaped_and_short() -> None:
    plain = base(0)
    old, new = plain["claim"]["answer"][0], "\u202e'" + "x" * 190
    text = json.dumps(plain).replace(json.dumps(old), json.dumps(new))
    found = examined(json.loads(text))
    assert found.proven
    assert "\\u202e" in str(found)
    assert "x" * 60 not in str(found)


def test_keys_that_come_twice(tmp_path: Path) -> None:
    text = json.dumps(base(0))
    for key in re.findall(r'"[a-z]+":', text):
        (tmp_path / "file.json").write_text(text.replace(key, f"{key} null, {key}", 1))
        found = examined(tmp_path / "file.json")
        assert found.failure == "the file is not JSON: an object has a key twice"


def test_evidence_at_optimised_times_and_families() -> None:
    """A forger tries every family and time for a false answer, of data that are nearly even."""
    rng, tried = np.random.default_rng(5), 0
    for _ in range(6):
        plain = base(int(rng.integers(len(BASES))))
        study = Study(plain)
        _answer_others(plain)
        families = ["two arms", "linear", "diagonal"] if study.linear else ["two arms"]
        for pair in plain["claim"]["pairs"]:
            best = -math.inf
            for after in rng.integers(1, len(plain["data"]["arm"]) + 1, size=3).tolist():
                for family in families:
                    moment = Data(study, plain["data"], after)
                    if np.all(moment.counts > 0):
                        found = moment.evidence(family, pair[0], pair[1])
                        if found > best:
                            best, pair[2:] = found, [family, after]
        tried += 1
        judged(copy.deepcopy(plain))
    assert tried == 6
