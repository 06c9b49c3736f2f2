"""Convex problems over the model set: projection, alternatives, spanner, characteristic time."""
