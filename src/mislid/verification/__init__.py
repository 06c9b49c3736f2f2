"""Check the certificate of a decision, with NumPy and the standard library alone.

Nothing of mislid is imported here, so that an error in the rules or in their geometry cannot hide
itself: every number is derived again from the file. `docs/certificate.md` describes the file and
says why these checks imply what it claims. `_reading` reads it, `_model` and `_duality` say which
means are possible and how far away they are, `_thresholds` how far is far enough, and `checks`
goes through the file.
"""

from mislid.verification.checks import Verification, verify

__all__ = ["Verification", "verify"]
