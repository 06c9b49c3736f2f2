"""Processes that work on a study while things break, and proof that nothing of it is lost.

`round.py` runs one: workers (`worker.py`, `calls.py`) write down what they intend and what came of
it (`record.py`), a nemesis (`nemesis.py`) breaks things by a schedule that is a function of a seed,
and two judges look at the log afterwards: `checker.py` with plain SQL and nothing of the package,
`judge.py` with the package. docs/reliability.md has the figures.
"""
