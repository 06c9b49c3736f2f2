"""The second judge finds replays that differ and certificates that do not hold."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import mislid
from faults import checker, judge
from faults.alone import work
from faults.calls import new_study
from faults.checker import Model, Row
from mislid.study.storage.sql import SQLStorage

History = tuple[str, list[Row], Model, Path]


@pytest.fixture
def history(tmp_path: Path) -> History:
    address = f"sqlite:///{tmp_path / 'lab.db'}"
    work(SQLStorage(address), tmp_path)
    _, rows = checker.read_sqlite(tmp_path / "lab.db")
    return address, rows, checker.replayed(rows), tmp_path


def found(history: History) -> set[str]:
    return {one.what for one in judge.violations(*history)}


def certificate(folder: Path) -> Path:
    return min(folder.glob("*.certificate"))


def other_digest(folder: Path) -> None:
    (folder / "w1.digest").write_text("{}")


def torn_certificate(folder: Path) -> None:
    file = certificate(folder)
    file.write_text(file.read_text()[:-9])


def forged_certificate(folder: Path) -> None:
    plain = json.loads(certificate(folder).read_text())
    plain["data"]["counts"][0] += 1
    certificate(folder).write_text(json.dumps(plain))


def certificate_of_another(folder: Path) -> None:
    study = new_study(None)
    study.add_observations([(f"c{k}", k / 2.0) for k in range(6)] * 30)
    study.result.certificate.save(folder / "z.certificate")
    assert mislid.verify(folder / "z.certificate").ok


BREAKS: dict[Callable[[Path], None], str] = {
    other_digest: "replay",
    torn_certificate: "certificate",
    forged_certificate: "certificate",
    certificate_of_another: "certificate",
}


def test_what_is_broken_is_found(history: History) -> None:
    folder = history[-1]
    assert found(history) == set()
    assert certificate(folder).exists()
    kept = {file: file.read_bytes() for file in folder.glob("*.certificate")}
    for break_it, named in BREAKS.items():
        break_it(folder)
        assert found(history) == {named}, break_it.__name__
        for name in ("w1.digest", "z.certificate"):
            (folder / name).unlink(missing_ok=True)
        for file, content in kept.items():
            file.write_bytes(content)
