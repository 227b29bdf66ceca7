"""Reports a run of cargo-mutants: `judge.py PART FOLDER`. It fails if a mutant survives that `survivors.txt` does not name."""

import re
import sys
from pathlib import Path

REASONS = Path(__file__).with_name("survivors.txt")


def main(part, folder):
    caught, timeout, missed = (names(Path(folder, f"{how}.txt")) for how in ("caught", "timeout", "missed"))
    killed = len(caught) + len(timeout)
    print(f"{part}: {killed} of {killed + len(missed)} viable mutants killed ({len(timeout)} by timeout)")
    known = [name for name in missed if is_known(name)]
    unknown = [name for name in missed if name not in known]
    for name in known:
        print(f"  survived: {name}")
    for name in unknown:
        print(f"  SURVIVED WITHOUT A REASON: {name}")
    return not unknown


def names(path):
    return path.read_text(encoding="utf-8").splitlines()


def is_known(name):
    """The place of a mutant moves, so the list does not have it. In the list, `…` stands for any text."""
    name = re.sub(r":\d+:\d+:", ":", name)
    listed = (line.strip() for line in names(REASONS) if line.startswith("  "))
    return any(re.fullmatch(re.escape(line).replace("…", ".*"), name) for line in listed)


sys.exit(not main(*sys.argv[1:]))
