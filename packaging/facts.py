"""What the packages must agree on: the version (Cargo.toml), the names (names.toml), the systems."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES_FILE = ROOT / "packaging/names.toml"
NAMES = tomllib.loads(NAMES_FILE.read_text(encoding="utf-8"))
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
if not re.fullmatch(r"\d+\.\d+\.\d+", VERSION):
    # npm, PyPI and Unity each write a pre-release in another way.
    sys.exit(f"Cargo.toml has the version {VERSION}, but a release needs three numbers, for example 0.3.0. Pre-releases are not supported.")

# Bytes of the server in a release. Think about a dependency before you raise it.
SERVER_BYTES_MAX = 10 * 1024 * 1024

# target of Rust: (os of npm, cpu of npm, tags of a wheel). The Linux programs are linked statically with musl, so they
# run with any libc; the oldest macOS is the one that Rust supports.
TARGETS = {
    "x86_64-unknown-linux-musl": ("linux", "x64", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"),
    "aarch64-unknown-linux-musl": ("linux", "arm64", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"),
    "x86_64-apple-darwin": ("darwin", "x64", "macosx_10_12_x86_64"),
    "aarch64-apple-darwin": ("darwin", "arm64", "macosx_11_0_arm64"),
    "x86_64-pc-windows-gnu": ("win32", "x64", "win_amd64"),
}


def program(target, name="unity-mcp"):
    return f"{name}.exe" if "windows" in target else name


def placeholders():
    """The names that still hold the placeholder."""
    return [key for key, value in NAMES.items() if "owner" in re.split(r"[^a-z]+", value.lower())]
