"""Misspecified linear top-m identification: exact geometry, certified answers.

The public names are listed in `__init__.pyi` and loaded when first used, so that importing the
package is fast.

>>> import mislid
>>> model = mislid.Model([[1, 0], [0, 1], [1, 1]], misspecification=0.1)
>>> model.K, model.d
(3, 2)
"""

import lazy_loader as _lazy

__version__ = "0.2.0"
"""The version of the package."""

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
__all__ += ["__version__"]
