"""Starts unity-mcp under the name of its package, for `uvx PACKAGE`. The program itself is beside this script."""

import os
import subprocess
import sys
from pathlib import Path


def main():
    program = Path(sys.argv[0]).resolve().parent / ("unity-mcp.exe" if os.name == "nt" else "unity-mcp")
    if not program.exists():
        sys.exit(f"unity-mcp: {program} is missing, so nothing was started; install the package again")
    command = [str(program), *sys.argv[1:]]
    if os.name == "nt":  # There, exec would end this process before the program has ended.
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)
