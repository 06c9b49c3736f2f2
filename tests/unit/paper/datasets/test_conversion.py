"""The authors' files, imitated, and what is made of them."""

import base64
import pickle

import numpy as np
import pytest

from mislid.errors import FileFormatError
from mislid.model import load_instance
from mislid.paper.datasets import CATALOGUE, instance_file, sha256


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


@pytest.mark.parametrize("protocol", [3, 4])
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
    same_instance(instance_file(content, "B.npz"), features, means, names, tmp_path)
    fourth = np.argsort(-means)[3]
    means[fourth] += 5.0
    same_instance(instance_file(content, "A_eps5.npz"), features, means, names, tmp_path)


# The linear instance of A as its authors published it, under the MIT licence.
PUBLISHED_A = base64.b85decode(
    "fCQC^0{{R30001elqie=Sd@$vZgp*Nc`jpba%C=Ub!>ELVRCX|d6bL{Uvgz*Z*FsRa&=>Ll#`T<1#We1aCwxB25n(<a%"
    "p&!laxyUg_J`9Vw8uJQj{o50ZRo-3Wk(u1&jq`ba`-"
    "Pl#`T<0%kariHL`kQj{o51B?MYluk}gO8@`=|4RS=|Nlz>bd+L=LXZIf0I0|sIbc=RKdH>+-"
    "1OtnzW@LL0002+zW@LL0002+zts;@goT;sKk_WYw}vggzZY2Xx?Rh$KL7v#0002+zxB_p1+@y_zW@LL0002+zhKTLDh8"
    "0(zW@LL0002+Kh+}!JO7#9KP9AXo?YtWzvY~i--"
    "|uuzhK@aZkVpeKLopY#?QCUzcQd;`axjfKY+krS_9_8KVc^zQm}~NzbkNt!dMC5zn{4bOBW@(KTVF0fwo!izx+FCt{Rr"
    "zKkq&^daZ=dKd^`ysW2khKL7v#0002+zs^81z6aUwzc3~1nIE&tzo)&TaTA;2zW@LL0002+zcG0M7@j%lKV$yV(caJIK"
    "U1jO9wn8yzW@LL0002+KL7v#0002+zbXyDkb0%cKV*bYx;L!kzW@LL0002+ztak65B7H5zvB7>ZJE&SzfXK)%Z{|zKeK"
    "0z^n7>6KOx*KV<Vc{zrFIdc@|}XzrTWyW!{v}zdJTqe!*mIzZVWqA7V-"
    "Dzi}+k;eH|DKZ|i`B+Pu+Ka_NoVvGiJV{dY0bCg|_C`Z5SqoH5-"
    "4E;wx_Ou*(vczgfKjs;akT4n>M?cSE8*4#y=tsZQGn#Wwkw!;9scj0mX8gQIzvoL=h@BMuM?c`geb^*_6-"
    "U3{4KH>zP{v2U=$7u5JkEM$j0JRPWprVbXar~nO8|wGXbFduQj{o50ZRo-0fv-"
    "l5s5=6oZO^l3mD$N00000008hm7@&H+@Y&%%uHAmjjJM!F>!dmtZZX}zlysD0j0J9CZDn(mXar~lj0bLHVRCX|d6bisO"
    "8|wGXbFduQj{o50ZR&nlxPl&0%<suiHL`kQj{o5185RXPEJby|Ns9=|NsC0O8|6~Vu?dg00000000000RR91000000ss"
    "I2000000{{R3000001ONa4000001poj5000001^@s6000002LJ#7000002mk;8000002><{900000lysD0j0JFEa%Xdt"
    "eUx=B"
)


@pytest.mark.parametrize("name", ["A_eps0", "A_eps5"])
def test_a_published_pickle(name):
    (file,) = (f for f in CATALOGUE["instances"].files if f.path == f"instances/{name}.npz")
    assert file.downloaded == sha256(PUBLISHED_A)
    assert file.digest(file.make(PUBLISHED_A, f"{name}.npz")) == file.checksum


class Reduced:
    """Pickles as a call."""

    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (pickled(X=np.eye(2), scores=[1, 2], names=Reduced(print, ("x",))), "asks for .*print"),
        (pickle.dumps(np.load), "asks for numpy.load"),
        (b"cos\nsystem\n(S'true'\ntR.", "asks for os.system"),
        (pickled(X=np.eye(2), scores=[1, 2]), "'names'"),
        (pickle.dumps([1, 2]), "cannot be read"),
        (pickled(X=np.eye(2))[:-20], "cannot be read"),
        (b"", "cannot be read"),
    ],
)
def test_other_pickles(content, problem, capsys):
    with pytest.raises(FileFormatError, match=problem):
        instance_file(content, "B.npz")
    assert not capsys.readouterr().out
