import os

import numpy as np
import pytest

from mislid.errors import ProblemError
from mislid.model import Instance, Model, load_instance

FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
MEANS = [0.3, 0.5, 0.8]


@pytest.fixture
def csv_file(tmp_path):
    def write(text):
        path = tmp_path / "arms.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def npz_file(tmp_path):
    def write(**arrays):
        path = tmp_path / "arms.npz"
        np.savez(path, **arrays)
        return path

    return write


def same(first, second):
    return (
        first.model.features.tobytes() == second.model.features.tobytes()
        and first.model.misspecification == second.model.misspecification
        and first.means.tobytes() == second.means.tobytes()
        and first.noise.tobytes() == second.noise.tobytes()
        and first.names == second.names
    )


@pytest.mark.parametrize("suffix", [".npz", ".NPZ"])
@pytest.mark.parametrize("misspecification", [0.1 + 0.2, np.inf])
@pytest.mark.parametrize(
    "names",
    [
        None,
        ["1", "2", "3", "4", "5", "6"],
        ['a,"b"', "=1+1", "", "#4", "é\u2028ß", "x=1"],
    ],
    ids=["none", "digits", "awkward"],
)
def test_saved_instances_load_bit_for_bit(tmp_path, rng, suffix, misspecification, names):
    features = rng.standard_normal((6, 3)) * [1e-300, 1, 1e300]
    features[0, 0] = -0.0
    means = features[:, 1] * np.pi
    instance = Instance(Model(features, misspecification), means, rng.random(6) + 0.1, names)
    path = tmp_path / f"arms{suffix}"
    instance.save(path)
    assert same(load_instance(path), instance)
    assert same(load_instance(str(path)), instance)
    assert [place.name for place in tmp_path.iterdir()] == [path.name]


def test_saving_replaces_a_file_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "arms.npz"
    first = Instance(Model(FEATURES, 0), MEANS)
    first.save(path)

    def refuse(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match="disk full"):
            Instance(Model(FEATURES, 1), MEANS).save(path)
    assert same(load_instance(path), first)
    assert [place.name for place in tmp_path.iterdir()] == [path.name]
    second = Instance(Model(FEATURES, 2), MEANS)
    second.save(path)
    assert same(load_instance(path), second)


@pytest.mark.parametrize(
    "names",
    [
        ["a\0", "b", "c"],
        [1, 2, 10**30],
    ],
)
def test_save_refuses_names_that_would_not_come_back(tmp_path, names):
    instance = Instance(Model(FEATURES, 0), MEANS, names=names)
    with pytest.raises(ProblemError, match=r"names saved to \.npz must be text without"):
        instance.save(tmp_path / "arms.npz")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": FEATURES, "means": MEANS[:2]}, "means must have 3 entries"),
        ({"features": [[1, np.nan], [0, 1]], "means": [0, 1]}, "features must be finite"),
        (
            {"features": FEATURES, "means": MEANS, "names": ["a", "b", "a"]},
            "names must be distinct; got 'a'",
        ),
        (
            {"features": FEATURES, "means": MEANS, "names": np.array(["a", "b", 1], dtype=object)},
            r"names.astype\(str\); it cannot be read \(Object arrays",
        ),
        (
            {"features": FEATURES, "means": MEANS, "misspecification": np.nan},
            "misspecification must be a number at least 0",
        ),
    ],
)
def test_incomplete_npz(npz_file, arrays, message):
    path = npz_file(**arrays)
    with pytest.raises(ProblemError, match=message) as caught:
        load_instance(path, None if "misspecification" in arrays else 0)
    assert str(path) in " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_damaged_npz_never_loads_as_something_else(tmp_path):
    path = tmp_path / "arms.npz"
    instance = Instance(Model(FEATURES, 0), MEANS)
    instance.save(path)
    whole = path.read_bytes()
    for position in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        try:
            loaded = load_instance(path, 0)
        except ProblemError:
            continue
        np.testing.assert_array_equal(loaded.means, MEANS)
        np.testing.assert_array_equal(loaded.model.features, FEATURES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "# note\n\nmean,x\n1,2\nnan,4\n",
            "line 5, column 'mean': .* got 'nan'",
        ),
        ("mean,noise,x\n1,1,1\n3,0,4\n", "noise must be above 0; got 0.0 at index 1"),
        ("mean,x\n1,2\n3\n", "must have 2 cells in every line, .*; got 1 in line 3"),
        ("name,mean,x\na,1,2\na,3,4\n", "names must be distinct; got 'a' for arm 0"),
        ('name,mean,x\n"a,1,2\nb,3,4\n', "line 3, is not separated"),
        ("mean,x\n1,2\n3,\u00e9\n".encode("latin-1"), "must be UTF-8 text"),
    ],
)
def test_wrong_csv(csv_file, text, message):
    path = csv_file(text)
    with pytest.raises(ProblemError, match=message):
        load_instance(path, 0.1)


def test_tables_are_read(csv_file):
    loaded = load_instance(csv_file("# made up\nname,mean,noise,x\n7,1,0.5,2\nb,3,0.25,4\n"), 0.5)
    assert loaded.names == ("7", "b")
    assert (loaded.means.tolist(), loaded.noise.tolist()) == ([1.0, 3.0], [0.5, 0.25])
    assert loaded.model.features.tolist() == [[2.0], [4.0]]
    with pytest.raises(ProblemError, match="misspecification must be given for"):
        load_instance(csv_file("mean,x\n1,2\n3,4\n"))
