import os
import zipfile

import numpy as np
import pytest

from mislid.errors import FileFormatError, ProblemError
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


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".CSV"])
@pytest.mark.parametrize("misspecification", [0.1 + 0.2, np.inf])
@pytest.mark.parametrize(
    "names",
    [
        None,
        [3, 1, 2, -7, 10**15, 0],
        ["1", "2", "3", "4", "5", "6"],
        ['a,"b"', " padded ", "", "#4", "é\u2028ß", "x=1"],
    ],
    ids=["none", "integers", "digits", "awkward"],
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
    ("suffix", "names"),
    [
        (".npz", ["a\0", "b", "c"]),
        (".npz", [1, 2, 10**30]),
        (".csv", ["a\nb", "b", "c"]),
        (".csv", ["a\r", "b", "c"]),
    ],
)
def test_save_refuses_names_that_would_not_come_back(tmp_path, suffix, names):
    instance = Instance(Model(FEATURES, 0), MEANS, names=names)
    with pytest.raises(ProblemError, match=f"names saved to {suffix} must be text without"):
        instance.save(tmp_path / f"arms{suffix}")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": FEATURES, "means": MEANS[:2]}, "means in '.*' must have 3 entries"),
        ({"features": [[1, np.nan], [0, 1]], "means": [0, 1]}, "features in '.*' must be finite"),
        (
            {"features": FEATURES, "means": MEANS, "names": ["a", "b", "a"]},
            "names in '.*' must be distinct; got 'a'",
        ),
        (
            {"features": FEATURES, "means": MEANS, "names": np.array(["a", "b", 1], dtype=object)},
            "array names in '.*' holds Python objects",
        ),
        (
            {"features": FEATURES, "means": MEANS, "misspecification": np.nan},
            "misspecification in '.*' must be a number at least 0",
        ),
    ],
)
def test_incomplete_npz(npz_file, arrays, message):
    with pytest.raises(ProblemError, match=message):
        load_instance(npz_file(**arrays))


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
        ("mean,noise,x\n1,1,1\n3,0,4\n", "noise in '.*' must be above 0; got 0.0 at index 1"),
        ("mean,x\n1,2\n3\n", "must have 2 cells in every line, .*; got 1 in line 3"),
        ("name,mean,x\na,1,2\na,3,4\n", "names in '.*' must be distinct; got 'a' for arm 0"),
        ('name,mean,x\n"a,1,2\nb,3,4\n', "must be separated by commas; line 3 is not"),
        ("# names=integers\nname,mean,x\na,1,2\nb,3,4\n", "names in '.*' must be integers"),
        ("mean,x\n1,2\n3,\u00e9\n".encode("latin-1"), "must be UTF-8 text"),
    ],
)
def test_wrong_csv(csv_file, text, message):
    path = csv_file(text)
    with pytest.raises(ProblemError, match=message):
        load_instance(path, 0.1)


@pytest.mark.parametrize(
    ("name", "misspecification", "sizes"),
    [
        ("A_eps0", 0, (10, 5)),
        ("A_eps5", 5, (10, 5)),
        ("B", 1, (15, 8)),
        ("D", 0.02, (10, 5)),
        ("E", 0.206, (103, 8)),
    ],
)
def test_published_instances_load_and_round_trip(
    shared_data, tmp_path, name, misspecification, sizes
):
    instance = load_instance(shared_data / "instances" / f"{name}.npz", misspecification)
    assert (instance.K, instance.d) == sizes
    assert instance.model.reduction is None
    for suffix in (".npz", ".csv"):
        instance.save(tmp_path / f"copy{suffix}")
        assert same(load_instance(tmp_path / f"copy{suffix}"), instance)


def npz(path, headings):
    """A file of arrays whose headings say what they like of the few bytes below."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (heading, data) in headings.items():
            text = f"{heading}\n".encode()
            head = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
            archive.writestr(f"{name}.npy", head + data)
    return path


def heading(shape, descr="<f8", order=False):
    return f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}"


GOOD = {"features": (heading((2, 1)), b"1234567?" * 2), "means": (heading((2,)), bytes(16))}


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ((heading((10**9, 10**9)), bytes(16)), "must have 8,000,000,000,000,000,000 bytes for"),
        ((heading((2, 10**30)), bytes(16)), "bytes for its shape"),
        ((heading((-1, -2)), bytes(16)), "bytes for its shape"),
        ((heading((2, 10**18), "|V0"), b""), "bytes for its shape"),
        ((heading((2, 1)), bytes(17)), "must have 16 bytes for its shape \\(2, 1\\); it has 17"),
        ((heading((2, 1), "|O"), bytes(16)), "holds Python objects, which are never unpickled"),
    ],
)
def test_what_headings_say_is_checked_before_anything_is_read(tmp_path, field, message):
    assert load_instance(npz(tmp_path / "a.npz", GOOD), 1.0).K == 2
    path = npz(tmp_path / "b.npz", GOOD | {"features": field})
    with pytest.raises(FileFormatError, match=message):
        load_instance(path)


def test_archives_that_unpack_to_too_much_are_refused(tmp_path):
    path = tmp_path / "arms.npz"
    np.savez_compressed(path, features=np.zeros((1 << 22, 8)), means=np.zeros(1 << 22))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(FileFormatError, match="must unpack to at most 268,435,456 bytes"):
        load_instance(path)


def test_archives_of_too_many_files_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "arms.npz", "w") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}.npy", b"")
    with pytest.raises(FileFormatError, match="must hold few files; it says that it has many"):
        load_instance(tmp_path / "arms.npz")
