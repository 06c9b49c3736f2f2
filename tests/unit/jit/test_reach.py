"""The digest of all that a kernel refers to, in whatever files and modules that is."""

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from helpers.scripts import SOURCE, run_script
from mislid._jit.reach import digest_of

HEADER = "from mislid._jit.compile import inner, inner_loop, kernel, linked\n"
FILES = {
    "mykernel": """
import deep_package.settings
from helper import added
from rates import RATE

unused = 0.0

@kernel
def changed(x: float) -> float:
    return added(x) + RATE * deep_package.settings.SHIFT
""",
    "helper": """
import deeper
from numpy import array

table = array([1.0, 2.0])

@inner
def added(x: float) -> float:
    return deeper.scaled(x) + table[1]
""",
    "deeper": """
import os

SCALE = 3.0
OFFSET = float(os.environ.get("OFFSET", "0"))
OTHER = 5.0

@inner
def scaled(x: float) -> float:
    return SCALE * x + OFFSET
""",
    "colorsys": "",  # one of Python's
    "rates": "RATE = 1.0",
    "deep_package/__init__": "",
    "deep_package/settings": "SHIFT = 0.5",
}
MODULES = [name.replace("/__init__", "").replace("/", ".") for name in FILES]


class Project:
    """Files of a user, which can be edited and imported anew."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "deep_package").mkdir()
        for name, text in FILES.items():
            self.place(name).write_text(HEADER + text)

    def place(self, name: str) -> Path:
        return self.folder / f"{name}.py"

    def edit(self, name: str, old: str, new: str) -> None:
        text = self.place(name).read_text()
        assert old in text
        self.place(name).write_text(text.replace(old, new))

    def load(self) -> ModuleType:
        for name in MODULES:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("mykernel")

    def digest(self) -> str:
        return digest_of(self.load().changed.function)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # edits within a second count as well
    yield Project(tmp_path)
    for name in MODULES:
        sys.modules.pop(name, None)


def test_what_is_imported_again_has_the_same_digest(project: Project) -> None:
    assert project.digest() == project.digest()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("mykernel", "RATE *", "2 * RATE *"),
        ("helper", "+ table", "- table"),
        ("helper", "2.0]", "3.0]"),
        ("deeper", "SCALE * x", "SCALE - x"),
        ("deeper", "SCALE = 3.0", "SCALE = 4.0"),
        ("deeper", "@inner", "@inner_loop"),
        ("rates", "1.0", "1.5"),
        ("deep_package/settings", "0.5", "0.75"),
    ],
)
def test_every_edit_below_a_kernel_counts(project: Project, file: str, old: str, new: str) -> None:
    before = project.digest()
    project.edit(file, old, new)
    assert project.digest() != before
    project.edit(file, new, old)
    assert project.digest() == before


def test_files_with_names_of_the_standard_library_count(project: Project) -> None:
    project.edit("helper", "import deeper", "import colorsys as deeper")
    project.place("colorsys").write_text(project.place("deeper").read_text())
    before = project.digest()
    project.edit("colorsys", "SCALE = 3.0", "SCALE = 4.0")
    assert project.digest() != before


def test_values_count_whose_source_stays(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = project.digest()
    monkeypatch.setenv("OFFSET", "2.5")
    assert project.digest() != before
    monkeypatch.delenv("OFFSET")
    assert project.digest() == before


def test_values_that_no_function_asks_for_do_not_count(project: Project) -> None:
    found = project.load()
    before = digest_of(found.changed.function)
    found.unused = 1.0
    sys.modules["deeper"].OTHER = 6.0  # type: ignore[attr-defined]
    assert digest_of(found.changed.function) == before
    sys.modules["deeper"].SCALE = 6.0  # type: ignore[attr-defined]
    assert digest_of(found.changed.function) != before


def test_code_counts_as_it_was_imported(project: Project) -> None:
    """A process that goes on with the old code must not store it as that of the new one."""
    old = project.load().changed.function
    project.edit("deeper", "SCALE * x", "SCALE - x")
    assert digest_of(old) != project.digest()


def made(text: str) -> Callable[..., Any]:
    """A function `f` that no file has."""
    scope: dict[str, Any] = {"__name__": "made"}
    exec(text, scope)
    found: Callable[..., Any] = scope["f"]
    return found


SAME = "def f(x): return x"
CLOSURE = "def outer(g):\n def f(x): return g(x)\n return f\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SAME, "def f(x): return -x"),
        (SAME, "def f(x, y=1): return x"),
        ("def f(x, y=1): return x", "def f(x, y=2): return x"),
        ("def f(x, *, y=1): return x", "def f(x, *, y=2): return x"),
        (CLOSURE + "f = outer(lambda x: x)", CLOSURE + "f = outer(lambda x: -x)"),
        (CLOSURE + "f = outer(1)", CLOSURE + "f = outer(1.0)"),
        ("a = {1: [2, {3}]}\ndef f(): return a", "a = {1: [2, {4}]}\ndef f(): return a"),
        ("a = (1, 2)\ndef f(): return a", "a = (1, 3)\ndef f(): return a"),
        ("class C: a = 1\ndef f(): return C.a", "class C: a = 2\ndef f(): return C.a"),
        (
            "class B: a = 1\nclass C(B): b = 1\ndef f(): return C.a",
            "class B: a = 2\nclass C(B): b = 1\ndef f(): return C.a",
        ),
        (
            "class C:\n @staticmethod\n def g(): return 1\ndef f(): return C.g()",
            "class C:\n @staticmethod\n def g(): return 2\ndef f(): return C.g()",
        ),
        (
            "class C: a: int\ndef f(x: 'C'): return x",
            "class C: a: float\ndef f(x: 'C'): return x",
        ),
        ("def f(x: int): return x", "def f(x: float): return x"),
        ("a = 1\ndef f(): return [a for _ in '1']", "a = 2\ndef f(): return [a for _ in '1']"),
    ],
)
def test_other_functions_have_other_digests(one: str, other: str) -> None:
    assert digest_of(made(one)) == digest_of(made(one)) != digest_of(made(other))


def test_circles_end() -> None:
    text = "a = []\na.append(a)\ndef g(x): return f(x)\ndef f(x): return g(a)\n"
    assert digest_of(made(text)) == digest_of(made(text)) != digest_of(made(SAME))
    late = "def outer():\n def f(): return g\n return f\n if 0: g = 1\nf = outer()"
    assert digest_of(made(late)) == digest_of(made(late))


def test_attributes_are_no_global_names() -> None:
    text = "means = {}\ndef f(state): return state.means"
    assert digest_of(made(text.format(1))) == digest_of(made(text.format(2)))


def test_addresses_and_the_order_of_sets_do_not_count() -> None:
    text = (
        "class C: pass\na, b = C(), {'a', 'b', 'c'}\ndef f(): return a, b, {1} if 'x' in b else 0"
    )
    script = f"from mislid._jit.reach import digest_of\n{text}\nprint(digest_of(f))"
    seeds = ("1", "2", "3")
    assert len({run_script(script, PYTHONHASHSEED=seed) for seed in seeds}) == 1


def test_links_to_kernels_count_with_what_these_are(project: Project) -> None:
    project.place("mykernel").write_text(
        f"{HEADER}from helper import like\ncall = linked(like)\n"
        "@kernel\ndef changed(address: int, x: float) -> float:\n    return call(address, x)\n"
    )
    like = "\n@kernel\ndef like(x: float) -> float:\n    return x\n"
    project.place("helper").write_text(f"{HEADER}{like}")
    before = project.digest()
    project.edit("helper", "-> float", "-> int")
    assert project.digest() != before


SCRIPT = "from mykernel import changed; print(changed(2.0))"


def test_a_kernel_of_a_user_does_not_run_stale(project: Project, tmp_path: Path) -> None:
    stored = tmp_path / "cache"

    def result(**environment: str) -> float:
        path = Path(f"{project.folder}{os.pathsep}{SOURCE}")
        plain = {"NUMBA_CACHE_DIR": str(stored), "PYTHONDONTWRITEBYTECODE": "1", **environment}
        return float(run_script(SCRIPT, path, **plain)[0])

    def codes() -> dict[str, int]:
        return {file.name: file.stat().st_mtime_ns for file in stored.rglob("*.nbc")}

    assert result() == 8.5
    compiled = codes()
    assert len(compiled) == 1
    assert result() == 8.5
    assert codes() == compiled  # loaded
    project.edit("deeper", "SCALE = 3.0", "SCALE = 4.0")
    assert result() == 10.5
    project.edit("deeper", "SCALE * x", "SCALE - x")
    assert result() == 4.5
    assert result(OFFSET="1") == 5.5
    project.edit("rates", "1.0", "3.0")
    assert result() == 5.5


LATE = """
from pathlib import Path
import mykernel

file = Path("{}")
text = file.read_text()
file.write_text(text.replace("SCALE * x", "SCALE - x"))
print(mykernel.changed(2.0))
"""


def test_an_edit_between_import_and_call_is_not_taken_for_what_is_compiled(
    project: Project, tmp_path: Path
) -> None:
    path = Path(f"{project.folder}{os.pathsep}{SOURCE}")
    script = LATE.format(project.place("deeper").as_posix())
    plain = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    assert float(run_script(script, path, **plain)[0]) == 8.5
    assert float(run_script(SCRIPT, path, **plain)[0]) == 3.5


# What else may lie between a kernel and a number in the file `below`, in which "1.0" is edited.
WAYS = {
    "a tuple with names": (
        "from collections import namedtuple\nP = namedtuple('P', 'a b')\nV = P(b=1.0, a=2.0)",
        "from below import V\ndef changed(x): return V.a * x",
    ),
    "a module in a closure": (
        "RATE = 1.0",
        "def made():\n    import below\n    return lambda x: below.RATE * x\nchanged = made()",
    ),
    "a function of vectorize": (
        "from numba import vectorize\n@vectorize\ndef rate(x): return 1.0 * x",
        "from below import rate\ndef changed(x): return rate(x)",
    ),
    "a module that makes names when asked": (
        "VALUES = {'RATE': 1.0}\ndef __getattr__(name):\n    return VALUES[name]",
        "import below\ndef changed(x): return below.RATE * x",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_edits_that_are_reached_in_other_ways_count(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    below, above = WAYS[way]
    (tmp_path / "above.py").write_text(above)

    def digest(text: str) -> str:
        (tmp_path / "below.py").write_text(text)
        for name in ("above", "below"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return digest_of(importlib.import_module("above").changed)

    first = digest(below)
    assert digest(below.replace("1.0", "3.0")) != first
    assert digest(below) == first
