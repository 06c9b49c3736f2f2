"""Whether a test of a suite fails."""

from typing import Any

from _pytest.outcomes import Failed


def fails(suite: type[Any], test: str) -> bool:
    """Run one test on a new object."""
    one = suite()
    getattr(one, "setup_method", bool)()
    try:
        getattr(one, test)()
    except (Exception, Failed):  # noqa: BLE001 - a broken part may raise anything
        return True
    finally:
        getattr(one, "teardown_method", bool)()
    return False
