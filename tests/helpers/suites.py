"""Whether a test of a suite fails."""

from _pytest.outcomes import Failed

from mislid.testing import Suite


def fails(suite: type[Suite], test: str) -> bool:
    """Run one test on a new object."""
    one = suite()
    one.setup_method()
    try:
        getattr(one, test)()
    except (Exception, Failed):  # noqa: BLE001 - a broken part may raise anything
        return True
    finally:
        one.teardown_method()
    return False
