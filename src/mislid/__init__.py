"""Misspecified linear top-m identification: exact geometry, certified answers.

The names below are loaded when first used, so that importing the package costs nothing.

>>> import mislid
>>> model = mislid.Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1)
>>> model.K, model.d
(3, 2)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mislid import errors

if TYPE_CHECKING:
    from mislid.geometry.alternatives import closest_alternative, pair_alternative
    from mislid.geometry.orthogonal import orthogonal_parameters
    from mislid.geometry.projection import project
    from mislid.geometry.spanner import initial_design, spanner
    from mislid.geometry.threshold import unstructured_threshold
    from mislid.geometry.time import characteristic_curve, characteristic_time
    from mislid.geometry.tube import smallest_misspecification
    from mislid.model import Instance, Model, load_instance
    from mislid.simulation.identify import identify
    from mislid.simulation.replicate import replicate
    from mislid.study.manage import (
        copy_study,
        create_study,
        delete_study,
        list_studies,
        load_study,
    )
    from mislid.study.storage import upgrade_storage
    from mislid.verification.checks import Verification, verify

__version__ = "0.2.0"

__all__ = [
    "Instance",
    "Model",
    "Verification",
    "__version__",
    "characteristic_curve",
    "characteristic_time",
    "closest_alternative",
    "copy_study",
    "create_study",
    "delete_study",
    "errors",
    "identify",
    "initial_design",
    "list_studies",
    "load_instance",
    "load_study",
    "orthogonal_parameters",
    "pair_alternative",
    "project",
    "replicate",
    "smallest_misspecification",
    "spanner",
    "unstructured_threshold",
    "upgrade_storage",
    "verify",
]

_HOMES = {
    "Instance": "mislid.model",
    "Model": "mislid.model",
    "Verification": "mislid.verification.checks",
    "characteristic_curve": "mislid.geometry.time",
    "characteristic_time": "mislid.geometry.time",
    "closest_alternative": "mislid.geometry.alternatives",
    "copy_study": "mislid.study.manage",
    "create_study": "mislid.study.manage",
    "delete_study": "mislid.study.manage",
    "identify": "mislid.simulation.identify",
    "initial_design": "mislid.geometry.spanner",
    "list_studies": "mislid.study.manage",
    "load_instance": "mislid.model",
    "load_study": "mislid.study.manage",
    "orthogonal_parameters": "mislid.geometry.orthogonal",
    "pair_alternative": "mislid.geometry.alternatives",
    "project": "mislid.geometry.projection",
    "replicate": "mislid.simulation.replicate",
    "smallest_misspecification": "mislid.geometry.tube",
    "spanner": "mislid.geometry.spanner",
    "unstructured_threshold": "mislid.geometry.threshold",
    "verify": "mislid.verification.checks",
    "upgrade_storage": "mislid.study.storage",
}


_PACKAGES = ("representation", "study")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
