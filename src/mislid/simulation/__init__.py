"""Simulated identifications: where rewards come from, one run, many runs."""
