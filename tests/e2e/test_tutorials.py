import importlib.util
from pathlib import Path

import pytest
from nbformat import v4, write

from helpers.notebooks import problems, processor_seconds, untidy
from mislid._jit.notice import MESSAGE

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
NOTEBOOKS = sorted(TUTORIALS.glob("*.ipynb"))
LONGEST = 120.0


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_is_kept_without_outputs(path):
    assert untidy(path) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path, tmp_path):
    before = processor_seconds()
    found = problems(path, tmp_path / "tutorial")
    assert not found, "\n\n".join(found)
    taken = processor_seconds() - before
    assert taken < LONGEST, f"{path.name} took {taken:.0f} s of processor time"


def test_data_are_what_the_script_writes(tmp_path):
    spec = importlib.util.spec_from_file_location("made_up", TUTORIALS / "made_up.py")
    made_up = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made_up)
    made_up.write(tmp_path)
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written
    for name, text in written.items():
        assert (TUTORIALS / name).read_text() == text, f"{name}: run made_up.py again"


def written(folder, *sources, **metadata):
    path = folder / "one.ipynb"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    cells = [v4.new_code_cell(source, **metadata) for source in sources]
    write(v4.new_notebook(cells=cells, metadata=kernel), path)
    return path


def test_outputs_are_found(tmp_path):
    assert untidy(written(tmp_path, "1")) == []
    assert "clear outputs" in untidy(written(tmp_path, "1", execution_count=3))[0]
    output = v4.new_output("stream", name="stdout", text="1")
    assert "clear outputs" in untidy(written(tmp_path, "1", outputs=[output]))[0]


@pytest.mark.slow
def test_what_goes_wrong_is_found(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "data.csv").write_text("1")
    notice = f"import sys; sys.stderr.write({MESSAGE!r})"  # where nothing was compiled before
    good = written(source, "assert open('data.csv').read() == '1'", "print('fine')", notice)
    assert problems(good, tmp_path / "good") == []
    failing = problems(written(source, "x = 1", "x / 0"), tmp_path / "failing")
    assert "ZeroDivisionError: division by zero\nx / 0" in failing[0]
    loud = written(source, "import warnings", "warnings.warn('look here')")
    assert "look here" in problems(loud, tmp_path / "loud")[0]
    littering = written(source, "open('more.csv', 'w').close()")
    assert "leaves more.csv behind" in problems(littering, tmp_path / "littering")[0]
