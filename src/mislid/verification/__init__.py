"""Check the certificate of a decision, with NumPy and the standard library alone.

Nothing of mislid is imported here, so that an error in the rules or in their geometry cannot hide
itself: every number is derived again from the file. `docs/certificate.md` describes the file and
says why these checks imply what it claims. `checks` goes through the file: `question`, `answer` and
`evidence` each check a part of it. `reading` takes values from it, `geometry` says which means are
possible and how far away they are, `thresholds` how far is far enough.
"""

from mislid.verification.checks import Verification, verify

__all__ = ["Verification", "verify"]
