"""What commands need of studies that a release may lack; its absence is one sentence."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from mislid.errors import MislidError


class MissingPartError(MislidError):
    """What was asked is not part of this release of the package."""


def progress(study: Any) -> dict[str, Any]:
    """The forecast: samples, more, more_low, more_high, pair, statistic, threshold, and so on."""
    return plain(_part(study, "progress", "a forecast")())


def what_if(study: Any, **changes: Any) -> dict[str, Any]:
    """The forecast for another question."""
    return plain(_part(study, "what_if", "a forecast for another question")(**changes))


def what_ifs(study: Any) -> list[dict[str, Any]]:
    """Forecasts for several questions."""
    return [plain(row) for row in _part(study, "what_ifs", "a choice of other questions")()]


def sensitivity(study: Any) -> dict[str, Any]:
    """The answer as a function of the misspecification."""
    return plain(_part(study, "sensitivity", "the answer for other misspecifications")())


def suspicions(study: Any) -> list[dict[str, Any]]:
    """Warnings: kind, message, level, statistic, threshold."""
    found = _part(study, "warnings", "a check of what was declared")()
    return [plain(warning) for warning in found]


def certificate(result: Any) -> Any:
    """The certificate of a result."""
    return _part(result, "certificate", "a certificate")


def verify(path: str) -> dict[str, Any]:
    """The verification of a certificate: ok, failure, checks, answer."""
    import mislid

    return plain(_part(mislid, "verify", "a check of certificates")(path))


def upgrade_storage(storage: Any, backup: str | None) -> dict[str, Any]:
    """Bring a storage up to date."""
    import mislid

    return plain(_part(mislid, "upgrade_storage", "an upgrade")(storage, backup=backup))


def write_report(study: Any, path: str) -> None:
    """Write one HTML page about the study."""
    try:
        from mislid import plotting_study
    except ImportError as problem:
        if problem.name not in (None, "mislid", "mislid.plotting_study"):
            raise MislidError(
                f"--html needs {problem.name} (pip install 'mislid[plots]')"
            ) from None
        raise _missing("a report") from None
    _part(plotting_study, "write_report", "a report")(study, path)


def accepted(function: Any, **options: Any) -> dict[str, Any]:
    """The options that are not None; refuses one that the function does not know."""
    given = {name: value for name, value in options.items() if value is not None}
    known = inspect.signature(function).parameters
    for name in given:
        if name not in known:
            raise _missing(f"--{name.replace('_', '-')}")
    return given


def plain(record: Any) -> dict[str, Any]:
    """Values of JSON, but for what is not finite.

    >>> import types
    >>> plain(types.SimpleNamespace(pair=("a", 2), more=None))
    {'pair': ['a', 2], 'more': None}
    """
    if hasattr(record, "to_dict"):
        fields = record.to_dict()
    elif dataclasses.is_dataclass(record) and not isinstance(record, type):
        fields = dataclasses.asdict(record)
    elif hasattr(record, "_asdict"):
        fields = record._asdict()
    else:
        fields = vars(record)
    return {str(name): _plain(value) for name, value in fields.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    if hasattr(value, "tolist"):  # of NumPy
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if dataclasses.is_dataclass(value) or hasattr(value, "to_dict"):
        return plain(value)
    return str(value)


def _part(owner: Any, name: str, what: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        raise _missing(what) from None


def _missing(what: str) -> MissingPartError:
    return MissingPartError(f"{what} is not part of this release of mislid: install a newer one")
