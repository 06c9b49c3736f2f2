"""What a replication was asked, as plain values for settings.json and for people."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

import mislid
from mislid.model import Instance
from mislid.simulation._job import Job


def settings_of(job: Job, runs: int) -> dict[str, Any]:
    """Everything that rows depend on, and the versions that made them."""
    model = job.instance.model
    return {
        "instance": digest(job.instance),
        "K": model.K,
        "d": model.d,
        "misspecification": _plain(model.misspecification),
        "m": int(job.m),
        "runs": runs,
        "seed": job.seed,
        "options": {name: _plain(value) for name, value in sorted(job.options.items())},
        "versions": {
            "mislid": mislid.__version__,
            "numpy": np.__version__,
            "numba": version("numba"),
        },
        "python": platform.python_version(),
    }


def digest(value: Any) -> str:
    """A short name of an instance or a record of arrays that differs whenever its numbers do."""
    parts = hashlib.sha256()
    _feed(parts, value)
    return parts.hexdigest()[:16]


def _feed(parts: Any, value: Any) -> None:
    if isinstance(value, Instance):
        model = value.model
        _feed(parts, [model.features, model.misspecification, value.means, value.noise])
    elif isinstance(value, np.ndarray):
        parts.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif dataclasses.is_dataclass(value):
        names = [part.name for part in dataclasses.fields(value)]
        parts.update(type(value).__qualname__.encode())
        _feed(parts, [getattr(value, name) for name in names])
    elif isinstance(value, (list, tuple)):
        for entry in value:
            _feed(parts, entry)
    else:
        parts.update(repr(value).encode())


def _plain(value: Any) -> Any:
    """A value of JSON; a composed object becomes its text, or a digest where it holds arrays."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        text = repr(value)
        return f"{type(value).__name__} {digest(value)}" if "array(" in text else text
