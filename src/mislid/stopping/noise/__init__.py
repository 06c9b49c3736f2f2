"""Evidence where the standard deviation of the noise is not known.

Each arm has two processes for every value x that its mean may have: E+(x), which grows if the mean
is above x, and E-(x), which grows if it is below. Both begin at 1 and are supermartingales if the
mean is x, whatever rule chooses the arms. For a challenger i and an incumbent j, E+ of j times E-
of i takes the place of the family `two arms` of `stopping.evidence`; the evidence of the pair
is the least logarithm of the product over all means at which i beats j by the tolerance.

tilted
    Values in an interval ("bounded"), or 0 and 1 ("bernoulli").
variances
    Gaussian values, every arm with a standard deviation of its own ("unknown").

equal
    Gaussian values, one standard deviation for all arms ("unknown-equal"). All evidence of
    `mislid.stopping.evidence` stays, multiplied by a process of the scatter.

docs/certificate-proof.md has the proofs. Written for clarity; `mislid.stopping` has the same
compiled.
"""

NOISE_MODELS = ("known", "unknown", "bounded", "bernoulli", "unknown-equal")
"""What may be known of the noise; docs/noise.md says what each of them means."""
UNDECLARED = ("unknown", "unknown-equal")
"""Gaussian values of which no standard deviation is declared."""

__all__ = ["NOISE_MODELS", "UNDECLARED"]
