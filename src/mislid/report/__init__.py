"""Reports: a study on one page of HTML that needs nothing else."""

from mislid.report.page import write_report

__all__ = ["write_report"]
