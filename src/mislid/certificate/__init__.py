"""Certificates of studies' answers, as files that `mislid.verify` checks."""

from mislid.certificate.certificate import Certificate

__all__ = ["Certificate"]
