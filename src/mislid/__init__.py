"""Misspecified linear top-m identification: exact geometry, certified answers.

The public names are listed in `__init__.pyi` and loaded when first used, so that importing the
package costs nothing.

>>> import mislid
>>> model = mislid.Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1)
>>> model.K, model.d
(3, 2)
"""

import ast as _ast
from importlib import import_module as _import_module
from importlib.resources import files as _files

__version__ = "0.2.0"
"""The version of the package."""


def _homes() -> dict[str, str]:
    """Where each public name is, from the stub; a subpackage is at home in itself."""
    stub = _ast.parse(_files(__name__).joinpath("__init__.pyi").read_text(encoding="utf-8"))
    found = {}
    for statement in stub.body:
        if isinstance(statement, _ast.ImportFrom):
            found |= {alias.name: str(statement.module) for alias in statement.names}
    return found


_HOMES = _homes()
__all__ = sorted([*_HOMES, "__version__"])  # noqa: PLE0605 - read from the stub


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    if home == __name__:
        return _import_module(f"{home}.{name}")
    value = getattr(_import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
