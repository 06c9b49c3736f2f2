"""Words that commands, pictures and reports share."""

from __future__ import annotations

import re
from datetime import UTC, datetime

# Seconds since 1970 at the beginning of the year 1 and at the end of 9999.
_CALENDAR = -62_135_596_800.0, 253_402_300_799.0
# Between the user and the last @, and what drivers take as options.
_SECRETS = (
    (r"(://[^:/@?]*):.*@", r"\1:***@"),
    (r"(?i)([?&;\s](?:ssl)?pass(?:word|wd|phrase)?=)[^&;\s]*", r"\1***"),
)


def the_best(m: int) -> str:
    """What is looked for.

    >>> the_best(1), the_best(3)
    ('the best', 'the 3 best')
    """
    return "the best" if m == 1 else f"the {m:,} best"


def moment(seconds: float, *, exact: bool = False) -> str:
    """A time since 1970 in ISO 8601: in UTC, to the second or, if `exact`, to the microsecond.

    Times that no calendar has, which a log may hold, are the first or last one that it has.

    >>> moment(1.7e9), moment(1.7e9 + 0.25, exact=True)
    ('2023-11-14T22:13:20Z', '2023-11-14T22:13:20.250000Z')
    >>> moment(1e12)
    '9999-12-31T23:59:59Z'
    """
    first, last = _CALENDAR
    time = datetime.fromtimestamp(min(max(seconds, first), last), UTC).replace(tzinfo=None)
    return f"{time.isoformat(timespec='microseconds' if exact else 'seconds')}Z"


def without_password(address: object) -> str:
    """An address as it may be shown.

    >>> without_password("postgresql://lab:secret@host/studies?password=secret&connect_timeout=2")
    'postgresql://lab:***@host/studies?password=***&connect_timeout=2'
    """
    shown = str(address)
    for pattern, mask in _SECRETS:
        shown = re.sub(pattern, mask, shown)
    return shown
