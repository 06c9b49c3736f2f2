"""A study on one page of HTML that needs nothing else.

`summary` says what it has come to, `page` shows the rest, `style` is of HTML.
"""

from mislid.report.page import report, write_report

__all__ = ["report", "write_report"]
