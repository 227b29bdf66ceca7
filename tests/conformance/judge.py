"""Compares what the suite wrote with what is expected of it: `judge.py RESULTS EXPECTED`.

The suite's own baseline knows whole scenarios alone, so that one check that cannot pass would hide all others.
"""

import json
import re
import sys
from pathlib import Path

RESULTS, EXPECTED = map(Path, sys.argv[1:3])


def expected():
    """Pairs of scenario and check."""
    lines = [line.split("#")[0].split() for line in EXPECTED.read_text().splitlines()]
    return {tuple(line) for line in lines if line}


def main():
    seen, failed = {}, {}
    for file in sorted(RESULTS.glob("server-*/checks.json")):
        scenario = re.split(r"-\d{4}-\d\d-\d\dT", file.parent.name.removeprefix("server-"))[0]  # Its time follows.
        for check in json.loads(file.read_text()):
            pair = scenario, check["id"]
            seen[pair] = seen.get(pair, 0) + 1
            if check["status"] == "FAILURE":
                failed[pair] = check.get("errorMessage", "").split("\n")[0][:200]
    wrong = [f"failed: {' '.join(pair)}: {failed[pair]}" for pair in sorted(failed.keys() - expected())]
    wrong += [f"expected to fail, and did not: {' '.join(pair)}" for pair in sorted(expected() - failed.keys())]
    print("\n".join(wrong))
    scenarios = {scenario for scenario, _ in seen}
    whole = scenarios - {scenario for scenario, _ in failed}
    print(f"{len(scenarios)} scenarios, {len(whole)} of them whole; {len(seen)} checks, {len(failed)} failed as expected"
          if not wrong else f"{len(wrong)} are not as expected")
    sys.exit(bool(wrong))


main()
