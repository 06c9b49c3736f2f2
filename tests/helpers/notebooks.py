"""Notebooks as they are kept, and as they run."""

import os
import resource
import shutil
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import mislid
from mislid._jit.notice import MESSAGE

SOURCES = Path(mislid.__file__).parents[1]


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def untidy(path: Path) -> list[str]:
    """What should not be kept in a file: outputs and counts, which differ from run to run."""
    notebook = read(path)
    nbformat.validate(notebook)
    found = [
        f"{path.name}, cell {cell.id}: clear outputs and counts before it is kept"
        for cell in notebook.cells
        if cell.get("outputs") or cell.get("execution_count") is not None
    ]
    if notebook.metadata.get("kernelspec", {}).get("name") != "python3":
        found.append(f"{path.name}: the kernel must be python3")
    return found


def problems(path: Path, folder: Path) -> list[str]:
    """Run a notebook in a new folder, beside the files that it reads; what goes wrong, in words."""
    shutil.copytree(
        path.parent, folder, ignore=shutil.ignore_patterns("*.ipynb", "__pycache__", ".*")
    )
    before = _files(folder)
    notebook = read(path)
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    # A relative path would lead elsewhere from the folder.
    paths = [str(SOURCES), os.environ.get("PYTHONPATH", "")]
    try:
        client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))})
    except CellExecutionError as error:
        cell = next(cell for cell in notebook.cells if _outputs(cell, "error"))
        return [f"{path.name}, cell {cell.id}: {error.ename}: {error.evalue}\n{cell.source}"]
    found = [
        f"{path.name}, cell {cell.id} writes to stderr: {output.text}\n{cell.source}"
        for cell in notebook.cells
        for output in _outputs(cell, "stream")
        if output.name == "stderr" and output.text.strip() != MESSAGE  # with an empty cache
    ]
    litter = sorted(_files(folder) - before)
    return found + [f"{path.name} leaves {name} behind: write to tempfile" for name in litter]


def processor_seconds() -> float:
    """What processes that this one started, and that have ended, took."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _outputs(cell: Any, kind: str) -> list[Any]:
    return [output for output in cell.get("outputs", []) if output.output_type == kind]


def _files(folder: Path) -> set[str]:
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name for name in names if "__pycache__" not in name}
