"""The rule `pairwise` of certificates of version 1, with SciPy (Kaufmann and Koolen, JMLR 2021)."""
