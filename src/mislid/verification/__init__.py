"""Check the certificate of a decision, with NumPy and the standard library alone.

Nothing of mislid is imported here, so that an error in the rules or in their geometry cannot hide
itself: every number is derived again from the file. `docs/certificate.md` describes the file and
says why these checks imply what it claims.

`checks` goes through the file and tests whether the data refute what was declared; `question` and
`reading` take what was asked and measured from it, `geometry` bounds how far away possible means
are, and `evidence` checks what settled every pair by the displacements of `families`.
"""

from mislid.verification.checks import Verification, verify

__all__ = ["Verification", "verify"]
