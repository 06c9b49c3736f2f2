"""The command `mislid`, for `python -m mislid`."""

import sys

from mislid.cli import main

if __name__ == "__main__":
    sys.exit(main())
