"""Reports: a study on one page of HTML that needs nothing else."""

from mislid.report.page import report, write_report

__all__ = ["report", "write_report"]
