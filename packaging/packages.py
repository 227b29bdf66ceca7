"""Makes archives, npm packages, wheels and the .mcpb from programs that are built: `packages.py BIN OUT [TARGET...]`.

BIN/TARGET has the programs `unity-mcp` and, for an archive, `mock-unity`. Without targets, all that are in BIN. The same
programs give the same bytes: every file has the time of the last commit.
"""

import base64
import gzip
import hashlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

from facts import NAMES, ROOT, TARGETS, VERSION, program

LICENCES = ["LICENSE-MIT", "LICENSE-APACHE"]
HERE = ROOT / "packaging"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    bins, out = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    targets = sys.argv[3:] or [target for target in TARGETS if (bins / target).is_dir()]
    programs = {target: (bins / target / program(target)).read_bytes() for target in targets}
    if not programs:
        sys.exit(f"{bins} has no programs, so nothing was made; build them with packaging/dist")
    out.mkdir(parents=True, exist_ok=True)
    for target in targets:
        archive(target, bins / target, out)
        wheel(target, programs[target], out)
    npm(programs, out)
    bundle(programs, out)
    sums(out)


def moment():
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True)
    return int(shown.stdout)


def archive(target, folder, out):
    """What a person unpacks by hand: both programs, the licences and the README."""
    name = f"unity-mcp-v{VERSION}-{target}"
    names = [program(target, name) for name in ("unity-mcp", "mock-unity")]
    files = {name: ((folder / name).read_bytes(), 0o755) for name in names if (folder / name).exists()}
    files |= {name: ((ROOT / name).read_bytes(), 0o644) for name in [*LICENCES, "README.md", "CHANGELOG.md"]}
    files = {f"{name}/{path}": file for path, file in files.items()}
    if "windows" in target:
        zipped(out / f"{name}.zip", files)
        return
    # gzip and tar each have a time of their own.
    with gzip.GzipFile(out / f"{name}.tar.gz", "wb", mtime=moment()) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for path, (content, mode) in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(content), mode, moment()
            tar.addfile(entry, io.BytesIO(content))


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipper:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(moment())[:6])
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3  # Unix, so that the mode counts.
            zipper.writestr(entry, content, zipfile.ZIP_DEFLATED)


def npm(programs, out):
    """A package per system, and the one that people name: a script that starts the program of the right package."""
    main = json.loads((HERE / "npm/package.json").read_text(encoding="utf-8"))
    for target, content in programs.items():
        system, cpu, _ = TARGETS[target]
        package = {key: main[key] for key in ("version", "license", "homepage", "repository")}
        package["name"] = npm_name(target)
        package["description"] = f"The program of {main['name']} for {system} {cpu}."
        package |= {"os": [system], "cpu": [cpu], "files": ["bin"], "preferUnplugged": True}
        pack(package, {f"bin/{program(target)}": (content, 0o755)}, out)
    main["optionalDependencies"] = {npm_name(target): VERSION for target in TARGETS}
    files = {"unity-mcp.js": ((HERE / "npm/unity-mcp.js").read_bytes(), 0o755)}
    files["README.md"] = ((HERE / "README.md").read_bytes(), 0o644)
    pack(main, files, out)


def npm_name(target):
    system, cpu, _ = TARGETS[target]
    return f"{NAMES['npm']}-{system}-{cpu}"


def pack(package, files, out):
    folder = out / "work/npm"
    shutil.rmtree(folder, ignore_errors=True)
    files |= {name: ((ROOT / name).read_bytes(), 0o644) for name in LICENCES}
    files["package.json"] = (json.dumps(package, indent=2).encode() + b"\n", 0o644)
    for path, (content, mode) in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        (folder / path).chmod(mode)
    command = [shutil.which("npm") or "npm", "pack", "--silent", "--pack-destination", str(out)]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(out / "work")


def wheel(target, content, out):
    """The program as a script, and another script with the name of the package, which `uvx PACKAGE` wants. maturin would
    compile the program again, and it would be another one than that of the other packages."""
    name = NAMES["pypi"].replace("-", "_")
    info, tags = f"{name}-{VERSION}.dist-info", TARGETS[target][2]
    metadata = (
        f"Metadata-Version: 2.4\nName: {NAMES['pypi']}\nVersion: {VERSION}\n"
        "Summary: MCP server for the Unity Editor. Calls survive compiles and domain reloads.\n"
        f"License-Expression: MIT OR Apache-2.0\n{''.join(f'License-File: {file}{chr(10)}' for file in LICENCES)}"
        f"Project-URL: Repository, {NAMES['repository']}\nKeywords: mcp,unity,agent,editor\nRequires-Python: >=3.8\n"
        "Description-Content-Type: text/markdown\n\n"
    )
    every_tag = "".join(f"Tag: py3-none-{tag}\n" for tag in tags.split("."))
    files = {
        f"{name}-{VERSION}.data/scripts/{program(target)}": (content, 0o755),
        f"{name}/__init__.py": ((HERE / "pypi/__init__.py").read_bytes(), 0o644),
        f"{info}/entry_points.txt": (f"[console_scripts]\n{NAMES['pypi']} = {name}:main\n".encode(), 0o644),
        f"{info}/METADATA": (metadata.encode() + (HERE / "README.md").read_bytes(), 0o644),
        f"{info}/WHEEL": (f"Wheel-Version: 1.0\nGenerator: unity-mcp\nRoot-Is-Purelib: false\n{every_tag}".encode(), 0o644),
    }
    files |= {f"{info}/licenses/{file}": ((ROOT / file).read_bytes(), 0o644) for file in LICENCES}
    record = "".join(f"{path},sha256={digest(file)},{len(file)}\n" for path, (file, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    zipped(out / f"{name}-{VERSION}-py3-none-{tags}.whl", files)


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def bundle(programs, out):
    """The .mcpb: one file for all systems that Claude Desktop has."""
    by_system = {}
    for target, content in programs.items():
        by_system.setdefault(TARGETS[target][0], {})[TARGETS[target][1]] = content
    manifest = json.loads((HERE / "mcpb/manifest.json").read_text(encoding="utf-8"))
    files = {}
    if "darwin" in by_system:
        files["server/unity-mcp"] = (universal(by_system["darwin"]), 0o755)
    if "win32" in by_system:
        files["server/unity-mcp.exe"] = (by_system["win32"]["x64"], 0o755)
    if "x64" in by_system.get("linux", {}):
        files["server/unity-mcp-linux"] = (by_system["linux"]["x64"], 0o755)
    if not files:
        print("no .mcpb: there is no program for a system of Claude Desktop")
        return
    # A bundle of fewer systems says so, and its entry point exists.
    manifest["compatibility"]["platforms"] = [system for system in manifest["compatibility"]["platforms"] if system in by_system]
    manifest["server"]["entry_point"] = next(iter(files))
    files["manifest.json"] = (json.dumps(manifest, indent=2, ensure_ascii=False).encode() + b"\n", 0o644)
    files |= {name: ((ROOT / name).read_bytes(), 0o644) for name in LICENCES}
    zipped(out / f"unity-mcp-v{VERSION}.mcpb", files)


# What a universal program of macOS says of its parts: type and subtype of the processor, and 2^14, to which they align.
PROCESSORS = {"x64": (0x01000007, 3), "arm64": (0x0100000C, 0)}
ALIGNMENT = 14


def universal(parts):
    header, body = struct.pack(">II", 0xCAFEBABE, len(parts)), b""
    start = 1 << ALIGNMENT
    for cpu, content in parts.items():
        header += struct.pack(">5I", *PROCESSORS[cpu], start + len(body), len(content), ALIGNMENT)
        body += content + b"\0" * (-len(content) % (1 << ALIGNMENT))
    return header.ljust(start, b"\0") + body


def sums(out):
    files = sorted(path for path in out.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / "SHA256SUMS").write_text("".join(lines), encoding="utf-8", newline="\n")


main()
