"""Check the certificate of a decision, with NumPy and the standard library alone.

Nothing of mislid is imported here, so that an error in the rules or in their geometry cannot hide
itself: every number is derived again from the file. `docs/certificate.md` describes the file and
says why these checks imply what it claims.

`checks` goes through the file; `question` and `reading` take what was asked and measured from it,
`geometry` says which means are possible and how far away they are. Versions 2 and 3: `settled`
checks when every pair was settled, by the evidence of `families`, and `declared` whether the data
refute what was declared. Version 1: `answer` and `evidence` check distances against `thresholds`.
"""

from mislid.verification.checks import Verification, verify
from mislid.verification.distances import Distances

__all__ = ["Distances", "Verification", "verify"]
