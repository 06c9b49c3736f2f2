"""Observations from .csv files: candidates, averages, and one sentence for what is wrong."""

import pytest

from mislid.errors import MislidError
from mislid.paper.representation import read_observations

LINES = "name,day,x,y,reward\na,mon,1,2,0.5\nb,mon,3,4,0.7\na,tue,1,2,0.1\n"


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "seen.csv"
        path.write_bytes(text.encode())
        return path

    return written


def test_repeated_lines_of_a_candidate_are_averaged(write):
    seen = read_observations(write(LINES), target="reward", groups=["day"])
    assert seen.X.tolist() == [[1, 2], [3, 4], [1, 2]]
    assert seen.y.tolist() == [0.5, 0.7, 0.1]
    assert seen.candidates.tolist() == [[1, 2], [3, 4]]
    assert seen.means.tolist() == [0.3, 0.7]
    assert seen.names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name,x,reward\na,1,nan\n", "line 2, column 'reward': .* got 'nan'"),
        ("name,x,gain\na,1,1\n", "must have a column 'reward'; got the headings 'name', 'x'"),
        ("name,x,reward\n,1,1\n", "must name every candidate; the name in line 2 is empty"),
        (
            "name,x,reward\na,1,1\nb,2,1\na,3,1\n",
            r"'a' the same features in every line; lines 2 and 4 differ in column 'x' \(is it",
        ),
    ],
)
def test_bad_files_get_one_sentence(write, text, sentence):
    with pytest.raises(MislidError, match=sentence):
        read_observations(write(text), target="reward")
