"""Names that people have written down somewhere."""

import pytest

from mislid.algorithms import ALGORITHMS, as_algorithm


@pytest.mark.parametrize(
    "name",
    ["fws", "lazy-tas", "rage", "peps", "top-two", "ugape", "xy-static", "xy-adaptive"],
)
def test_rivals_have_these_names(name: str) -> None:
    assert as_algorithm(name) is ALGORITHMS[name]
