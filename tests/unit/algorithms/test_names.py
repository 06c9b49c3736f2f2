"""Names that people have written down somewhere."""

import pytest

from mislid.algorithms import ALGORITHMS, algorithm_names, as_algorithm


@pytest.mark.parametrize(
    "name",
    ["fws", "lazy-tas", "rage", "peps", "top-two", "ugape", "xy-static", "xy-adaptive"],
)
def test_rivals_have_these_names(name: str) -> None:
    assert as_algorithm(name) is ALGORITHMS[name]


@pytest.mark.parametrize(
    ("former", "present"), [("lazy-track-and-stop", "lazy-tas"), ("eb-tci", "top-two")]
)
def test_former_names_are_read_and_not_offered(former: str, present: str) -> None:
    assert as_algorithm(former) is ALGORITHMS[present]
    assert former not in algorithm_names()
