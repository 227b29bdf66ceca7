"""What Autobahn found: `judge.py INDEX`. Fails if anything failed, was closed uncleanly, or is missing."""

import json
import sys
from collections import Counter

cases = json.load(open(sys.argv[1]))["unity-mcp"]
for name in ("behavior", "behaviorClose"):
    print(f"{name}: {dict(Counter(case[name] for case in cases.values()))}")
good = {"OK", "INFORMATIONAL", "NON-STRICT"}
bad = {number: case for number, case in cases.items() if not {case["behavior"], case["behaviorClose"]} <= good}
for number, case in bad.items():
    print(number, case["behavior"], case["behaviorClose"])
print(f"{len(cases)} cases, {len(bad)} bad")
sys.exit(bool(bad) or len(cases) < 266)
