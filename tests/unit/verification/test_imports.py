"""The checker imports NumPy, the standard library and itself only."""

import ast
import sys
from pathlib import Path

import mislid.verification

FOLDER = Path(mislid.verification.__file__).parent
ALLOWED = {*sys.stdlib_module_names, "numpy"}


def imported(file: Path) -> set[str]:
    names = set[str]()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module))
    return names


def test_nothing_else_is_imported() -> None:
    files = sorted(FOLDER.glob("*.py"))
    assert len(files) > 5
    for file in files:
        strange = {name for name in imported(file) if name.split(".")[0] not in ALLOWED}
        assert all(name.startswith("mislid.verification") for name in strange), (file, strange)
