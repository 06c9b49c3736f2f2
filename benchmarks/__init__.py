"""Timings against general solvers; see docs/benchmarks.md."""
