"""Random dumps through savings, each recounted by other code: `python -m bench.drawn_savings 300`."""

import sys

from tests.savings.drawn import all_wrong


def run(count: int) -> int:
    """How many are wrong."""
    failed = 0
    for seed, found in all_wrong(range(count)):
        failed += 1
        print(f"seed {seed}: {'; '.join(found)}", flush=True)
    print(f"{failed} of {count} dumps are wrong")
    return failed


if __name__ == "__main__":
    sys.exit(run(int(sys.argv[1])) > 0)
