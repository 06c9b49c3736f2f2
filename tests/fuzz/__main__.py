"""`python -m fuzz [COUNT | FIRST LAST]`: try inputs, print those that go wrong."""

import sys

from fuzz.run import faults


def main(words: list[str]) -> int:
    numbers = [int(word) for word in words] or [20_000]
    inputs = range(*numbers) if len(numbers) > 1 else range(numbers[0])
    found = 0
    for fault in faults(inputs):
        found += 1
        print(f"{fault.number}: {fault.target}({fault.words[:400]})\n  {fault.problem}", flush=True)
    print(f"{len(inputs):,} inputs, {found} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
