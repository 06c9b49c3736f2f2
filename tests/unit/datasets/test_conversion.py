"""The authors' files, imitated, and what is made of them."""

import csv
import io
import pickle

import numpy as np
import pytest

from mislid.datasets.catalogue import CATALOGUE
from mislid.datasets.conversion import instance_digest, instance_file, run_table
from mislid.errors import FileFormatError
from mislid.model import load_instance


class AsMatrix(np.ndarray):
    """An array that pickles as numpy.matrix did when the files were made."""

    def __reduce__(self):
        function, (_, *rest), state = np.asarray(self).__reduce__()
        return function, (np.matrix, *rest), state


def pickled(protocol=3, **values):
    return pickle.dumps(values, protocol)


def same_instance(content, features, means, names, tmp_path):
    path = tmp_path / "instance.npz"
    path.write_bytes(content)
    instance = load_instance(path, np.inf)
    np.testing.assert_array_equal(instance.model.features, features)
    np.testing.assert_array_equal(instance.means, means)
    assert instance.names == names


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("order", ["C", "F"])
def test_pickled_instances(rng, tmp_path, protocol, order):
    features = rng.standard_normal((5, 2))
    means = rng.standard_normal(5)
    content = pickled(
        protocol,
        X=np.array(features.T, order=order).view(AsMatrix),
        scores=means.tolist(),
        theta=np.zeros((2, 1)).view(AsMatrix),
        names=np.arange(5),
        pargs={},
    )
    assert b"matrix" in content
    names = ("0", "1", "2", "3", "4")
    same_instance(instance_file([content]), features, means, names, tmp_path)
    fourth = np.argsort(-means)[3]
    means[fourth] += 5.0
    same_instance(instance_file([content], bonus_of_fourth=5.0), features, means, names, tmp_path)


def test_old_names_of_numpy_modules(rng, tmp_path):
    features, scores = rng.standard_normal((3, 2)), [np.float64(0.5), 0.25, 0.125]
    content = pickled(2, X=features.T, scores=scores, names=["a", "b", "c"])
    old = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert old != content
    same_instance(instance_file([old]), features, [0.5, 0.25, 0.125], ("a", "b", "c"), tmp_path)


def test_the_digest_is_of_numbers_not_of_bytes(rng):
    features, means = rng.standard_normal((3, 2)), rng.standard_normal(3)
    plain, packed = io.BytesIO(), io.BytesIO()
    np.savez(plain, features=features, means=means)
    np.savez_compressed(packed, features=features, means=means, names=["a", "b", "c"])
    assert instance_digest(plain.getvalue()) == instance_digest(packed.getvalue())
    means[0] = np.nextafter(means[0], 9)
    np.savez(changed := io.BytesIO(), features=features, means=means)
    assert instance_digest(plain.getvalue()) != instance_digest(changed.getvalue())


@pytest.mark.parametrize("name", ["A_eps0", "A_eps5", "B", "D", "E"])
def test_published_instances_from_imitated_pickles(shared_data, tmp_path, name):
    """What the authors pickled is known but for its bytes; the bytes made of it are checked."""
    source = "A_eps0" if name == "A_eps5" else name
    with np.load(shared_data / "instances" / f"{source}.npz") as arrays:
        content = pickled(
            X=arrays["features"].T.view(AsMatrix),
            scores=arrays["means"].tolist(),
            names=arrays["names"].tolist(),
        )
    (file,) = (f for f in CATALOGUE["instances"].files if f.path == f"instances/{name}.npz")
    assert file.digest(file.make([content])) == file.checksum


class Evil:
    def __reduce__(self):
        return print, ("executed",)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (pickled(X=np.eye(2), scores=[1, 2], names=Evil()), "asks for builtins.print"),
        (pickle.dumps(np.load), "asks for numpy.load"),
        (pickled(X=np.eye(2), scores=[1, 2]), "lacks what it should hold: 'names'"),
        (pickled(X="two", scores=[1, 2], names=[1, 2]), "lacks what it should hold"),
        (pickle.dumps([1, 2]), "must be a dict; got list"),
        (pickled(X=np.eye(2))[:-20], "cannot be read"),
        (b"", "cannot be read"),
    ],
)
def test_other_pickles(content, problem, capsys):
    with pytest.raises(FileFormatError, match=problem):
        instance_file([content])
    assert not capsys.readouterr().out


RESULTS = b",complexity,regret,linearity,running time\n0,21069,0,1.0,60.18635392189026\n"


def test_results_become_one_table():
    other = b",complexity,regret,linearity,running time\n0,365,1,0.0,3.8004419803619385\n"
    table = run_table([RESULTS, other], labels=[("D", "LinGapE"), ("C", "MisLid empirical")])
    assert table == (
        b"experiment,method,samples,error,seconds\r\n"
        b"D,LinGapE,21069,0,60.186\r\nC,MisLid empirical,365,1,3.8\r\n"
    )


@pytest.mark.parametrize(
    "content",
    [b"<html>", b"a,b\n1,2\n", RESULTS.replace(b"21069", b"many"), RESULTS[:-25], b"\xff\xfe"],
)
def test_other_results(content):
    with pytest.raises(FileFormatError, match="the results of LinGapE on D are not the table"):
        run_table([content], labels=[("D", "LinGapE")])


def test_published_runs_from_imitated_results(shared_data):
    """The labels are in the file's order, and its numbers survive: the checksum is the file's."""
    (file,) = CATALOGUE["published"].files
    blocks = {}
    with (shared_data / "published" / "runs.csv").open(newline="") as runs:
        for row in csv.DictReader(runs):
            line = f"0,{row['samples']},{row['error']},0.0,{row['seconds']}\n"
            blocks.setdefault(f"{row['experiment']} {row['method']}.csv", []).append(line)
    heading = ",complexity,regret,linearity,running time\n"
    contents = [(heading + "".join(blocks[d.name])).encode() for d in file.downloads]
    assert file.digest(file.make(contents)) == file.checksum
