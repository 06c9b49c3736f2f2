"""Write the traces anew, after a change that is meant to change decisions.

From the directory `tests`:  python -m golden.write
Then look at the difference and say in the changelog why it is right.
"""

import json

from golden.traces import FILE, keys, trace


def main() -> None:
    lines = (f"{json.dumps(key)}: {json.dumps(trace(key))}" for key in keys())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
