"""The check of a certificate, with NumPy and the standard library alone.

Nothing of mislid is imported here, so that an error in the rules or in their geometry cannot hide
itself: everything that a certificate claims is derived from its data. `docs/certificate.md`
describes the file and proves what the check implies.
"""

from mislid.verification.checks import Verification, verify

__all__ = ["Verification", "verify"]
