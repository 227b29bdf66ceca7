"""Changes the shell in some hundred small ways and checks that a test fails: `shell.py [--again | --resume] [--only REGEX]`.

cargo-mutants lists the changes. One build has them all, behind switches (see `switches.py`), and the suites run from cheap
to dear. A mutant is run only by suites that reach it, and only until one of them fails. `--again` runs those that survived
the last time, `--resume` goes on with a run that was interrupted. The survivors must be those in `survivors.txt`, which says why.
"""

import collections
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import switches

ROOT = Path(__file__).resolve().parents[2]
OUT = Path(os.environ.get("OUT", ROOT / "target/mutants/shell"))
COPY = OUT / "copy"
RESULTS = OUT / "results.json"
LIST = OUT / "mutants.json"
REASONS = Path(__file__).with_name("survivors.txt")
JOBS = int(os.environ.get("JOBS", "2"))

# Package, test target, and whether it needs real time: then a failure must happen twice.
SUITES = [
    ("server", "unity_mcp", False),
    ("server", "config", False),
    ("server", "timeouts", False),
    ("server", "requests", False),
    ("server", "stdio", False),
    ("sim", "scenarios", False),
    ("tests", "e2e", True),
    ("tests", "security", True),
]

ENV = os.environ | {"INSTA_UPDATE": "no", "CARGO_TERM_COLOR": "never", "CARGO_TARGET_DIR": str(OUT / "target")}


def cargo(*args):
    command = ["cargo", *args, "--message-format", "json"]
    done = subprocess.run(command, cwd=COPY, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def listed():
    command = ["cargo", "mutants", "--list", "--json", "-p", "unity-mcp", "--file", "server/src/**/*.rs"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return [mutant for mutant in found if not mutant["file"].endswith("/tests.rs")]


def copy_sources():
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    kept = set()
    for name in files.stdout.splitlines():
        kept.add(COPY / name)
        if (ROOT / name).is_file():
            write(COPY / name, (ROOT / name).read_bytes())
            shutil.copymode(ROOT / name, COPY / name)
    for folder in ("server", "sim", "tests", "scenarios"):
        for file in (COPY / folder).rglob("*"):
            if file.is_file() and file not in kept:
                file.unlink()


def write(path, data):
    """Leaves a file alone that has these bytes already: cargo looks at its time."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def plant(mutants, left_out):
    """Writes all mutants but these; returns where each stands, as `file: [(start, end, number)]`."""
    places = collections.defaultdict(list)
    by_file = collections.defaultdict(list)
    for number, mutant in enumerate(mutants):
        by_file[mutant["file"]].append((number, mutant))
    for name, of_file in by_file.items():
        of_program = name in ("server/src/main.rs", "server/src/cli.rs")
        switch = "unity_mcp::mutants::on" if of_program else "crate::mutants::on"
        chosen = [(number, mutant) for number, mutant in of_file if number not in left_out]
        file = switches.File((ROOT / name).read_text(), chosen, switch)
        left_out.update((number, why) for number, why in file.left_out.items())
        text = file.written()
        if name == "server/src/lib.rs":
            text += "\n#[expect(clippy::indexing_slicing, missing_docs)]\npub mod mutants {" + switches.SWITCH.replace("COUNT", str(len(mutants))) + "}\n"
            text = text.replace("#[expect(clippy::indexing_slicing, missing_docs)]\n", "")
        write(COPY / name, text.encode())
        places[name] = file.places(text)
    return places


def find_unviable(mutants, left_out):
    """Adds those that cannot be switched, with the reason: `elsewhere`, `unviable`, or `constant` for cargo-mutants itself."""
    while True:
        places = plant(mutants, left_out)
        done, messages = cargo("check", "-p", "unity-mcp", "--all-targets")
        if done.returncode == 0:
            return
        before = len(left_out)
        for message in messages:
            error = message.get("message", {})
            if error.get("level") != "error":
                continue
            code = (error.get("code") or {}).get("code")
            spans = sorted(error["spans"], key=lambda span: not span["is_primary"])
            hits = [number for span in spans for number in at(places, span)]
            if hits:
                left_out[hits[0]] = "constant" if code == "E0015" else "unviable"
        print(f"  {len(left_out) - before} more cannot be switched", flush=True)
        if len(left_out) == before:
            rendered = [m["message"]["rendered"] for m in messages if m.get("message", {}).get("level") == "error"]
            sys.exit("the sources do not build:\n" + "\n".join(rendered[:5]) + done.stderr[-2000:])


def at(places, span):
    while span["expansion"]:
        span = span["expansion"]["span"]
    return [n for start, end, n in places[span["file_name"]] if start <= span["byte_start"] and span["byte_end"] <= end]


def build(suites):
    """The programs of these suites, by name."""
    tests = {}
    # The features of the whole workspace, as the end-to-end tests build the programs; but not every unit test of it.
    for folder, selection in (("server", ["-p", "unity-mcp", "--lib"]), (None, ["--workspace"])):
        names = [name for of, name, _ in suites if (of == "server") == (folder == "server")]
        if not names:
            continue
        chosen = [f"--test={name}" for name in names if name != "unity_mcp"]
        done, messages = cargo("test", *selection, *chosen, "--no-run")
        if done.returncode != 0:
            sys.exit(done.stderr[-5000:])
        tests |= {m["target"]["name"]: m["executable"] for m in messages if m.get("executable") and m["profile"]["test"]}
    if any(folder == "tests" for folder, _, _ in suites):
        done, messages = cargo("build", "--workspace", "--bins")
        if done.returncode != 0:
            sys.exit(done.stderr[-5000:])
        programs = {m["target"]["name"]: m["executable"] for m in messages if m.get("executable")}
        ENV["UNITY_MCP"] = programs["unity-mcp"]
    return tests


FAILED = re.compile(r"^test (.+?) +\.\.\. FAILED", re.M)


def run(suite, program, env, limit, tests=(), skipped=()):
    """`passed`, `failed` or `timeout`, the tests that failed, and the time."""
    began = time.monotonic()
    exact = ["--exact"] if tests or skipped else []
    skips = [f"--skip={name}" for name in skipped]
    threads = ["--test-threads=4"] if suite == "tests" else []  # Real programs mostly wait.
    with open(OUT / f"output-{threading.get_ident()}", "wb") as output:
        process = subprocess.Popen([program, *tests, *exact, *skips, *threads], cwd=COPY / suite, env=ENV | env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        how = "timeout"
        while how == "timeout" and time.monotonic() - began < limit:
            # One failure is enough: the rest might wait for what never comes.
            if process.poll() is not None:
                how = "passed" if process.returncode == 0 else "failed"
            elif FAILED.search(Path(output.name).read_text(errors="replace")):
                how = "failed"
            else:
                time.sleep(0.05)
        # Servers that a test has left behind, too.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        failed = FAILED.findall(Path(output.name).read_text(errors="replace"))
    return how, failed, time.monotonic() - began


# Tests that failed without a mutant.
UNSTABLE = set()


def judge(number, suite, program, real_time, limit):
    """What is late on a busy machine is not a kill: in real time, a test must fail twice, and pass without the mutant."""
    env = {"MUTANT": str(number)}
    passed = set()
    while True:
        how, failed, _ = run(suite, program, env, limit, skipped=passed | UNSTABLE)
        if how != "failed" or not real_time or not failed:
            return how, failed
        if run(suite, program, env, limit, failed)[0] == "passed":
            passed.update(failed)
        elif run(suite, program, {}, limit, failed)[0] == "passed":
            return how, failed
        else:
            UNSTABLE.update(failed)


def by_cargo_mutants(mutants, numbers):
    """One build for each, and the unit tests alone."""
    chosen = [f"--re=^{re.escape(mutants[number]['name'])}$" for number in numbers]
    out = OUT / "constants"
    command = ["cargo", "mutants", "-p", "unity-mcp", "--file", "server/src/**/*.rs", "-o", out, f"-j{JOBS}", "--minimum-test-timeout=60", *chosen]
    suites = [f"--test={name}" for folder, name, _ in SUITES if folder == "server" and name != "unity_mcp"]
    subprocess.run([*command, "--", "--lib", *suites], cwd=ROOT)
    hows = {"caught": "failed", "missed": "passed", "timeout": "timeout", "unviable": "unviable"}
    listed = {how: (out / "mutants.out" / f"{file}.txt").read_text().splitlines() for file, how in hows.items()}
    for number in numbers:
        how = next(how for how, names in listed.items() if mutants[number]["name"] in names)
        yield number, {"how": how, "by": "unity_mcp", "tests": [], "reached": True}


def keys(mutants):
    """The name of each without its place, which moves. Of equal ones, the second is `… (2)`."""
    counts = collections.Counter()
    for mutant in mutants:
        name = re.sub(r":\d+:\d+:", ":", mutant["name"])
        counts[name] += 1
        yield name if counts[name] == 1 else f"{name} ({counts[name]})"


def main():
    args = sys.argv[1:]
    only = re.compile(args[args.index("--only") + 1] if "--only" in args else "")
    resumes = "--resume" in args
    old = json.loads(RESULTS.read_text()) if resumes or "--again" in args else {}
    OUT.mkdir(parents=True, exist_ok=True)
    if not resumes:
        copy_sources()
        LIST.write_text(json.dumps(listed()))
    mutants = json.loads(LIST.read_text())
    names = list(keys(mutants))
    print(f"{len(mutants)} mutants", flush=True)
    hows = {number: old.get(name, {}).get("how") for number, name in enumerate(names)}
    left_out = {number: how for number, how in hows.items() if how in ("unviable", "constant", "elsewhere")}
    if not resumes:
        find_unviable(mutants, left_out)
    chosen = os.environ.get("SUITES", "").split(",") if os.environ.get("SUITES") else None
    suites = [suite for suite in SUITES if not chosen or suite[1] in chosen]
    tests = build(suites)
    results = {}
    for number, mutant in enumerate(mutants):
        was = old.get(names[number], {})
        if was.get("how") in ("failed", "timeout", "unviable"):
            results[number] = was
        elif number in left_out:
            results[number] = {"how": left_out[number]}
        elif only.search(mutant["name"]):
            results[number] = {"how": "passed", "reached": False, "survived": []}
            if resumes:
                results[number] |= {"survived": was.get("survived", []), "reached": bool(was.get("survived"))}
    waiting = [number for number in results if results[number]["how"] == "passed"]

    def save():
        named = {names[number]: result | {"name": mutants[number]["name"]} for number, result in results.items()}
        RESULTS.write_text(json.dumps(named, indent=1))

    for suite, name, real_time in suites:
        seen = OUT / "seen"
        seen.unlink(missing_ok=True)
        while (whole := run(suite, tests[name], {"MUTANTS_SEEN": str(seen)}, 600, skipped=UNSTABLE))[0] != "passed":
            if not real_time or set(whole[1]) <= UNSTABLE:
                sys.exit(f"{name} fails without a mutant: {whole[1]}")
            UNSTABLE.update(whole[1])
        took = whole[2]
        reached = {int(line) for line in seen.read_text().split()}
        of_suite = [number for number in waiting if number in reached and name not in results[number]["survived"]]
        print(f"{name}: {took:.1f} s, {len(of_suite)} of {len(waiting)} mutants are reached", flush=True)
        limit = 10 + 10 * took
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            futures = {pool.submit(judge, number, suite, tests[name], real_time, limit): number for number in of_suite}
            for done, future in enumerate(concurrent.futures.as_completed(futures), 1):
                number = futures[future]
                how, failed = future.result()
                survived = results[number]["survived"] + [name] * (how == "passed")
                results[number] = {"how": how, "by": name, "tests": failed, "reached": True, "survived": survived}
                if done % 20 == 0:
                    print(f"  {done} of {len(of_suite)} in {time.monotonic() - began:.0f} s", flush=True)
                    save()
        waiting = [number for number in waiting if results[number]["how"] == "passed"]
        print(f"  {len(waiting)} survive", flush=True)
        save()
    constants = [number for number, result in results.items() if result["how"] == "constant" and only.search(mutants[number]["name"])]
    if constants and not chosen:
        results.update(by_cargo_mutants(mutants, constants))
        save()
    sys.exit(not report(names, results))


def report(names, results):
    count = collections.Counter(result["how"] for result in results.values())
    killed = [result for result in results.values() if result["how"] in ("failed", "timeout")]
    viable = len(killed) + count["passed"]
    by = ", ".join(f"{count} by {name}" for name, count in collections.Counter(result["by"] for result in killed).items())
    print(f"\nshell: {len(killed)} of {viable} viable mutants killed ({count['timeout']} by timeout), {100 * len(killed) / max(viable, 1):.1f} %: {by}")
    print(f"not viable: {count['unviable']}, of other systems: {count['elsewhere']}, not run: {count['constant']}")
    if UNSTABLE:
        print(f"not counted, because they fail without a mutant: {', '.join(sorted(UNSTABLE))}")
    lines = REASONS.read_text().splitlines() if REASONS.exists() else []
    known = {line.strip() for line in lines if line.startswith("  ")}
    survivors = {names[number]: result for number, result in results.items() if result["how"] == "passed"}
    for name, result in sorted(survivors.items(), key=lambda survivor: survivor[0] in known):
        where = "" if result["reached"] else " (no suite reaches it)"
        print(f"  {'survived' if name in known else 'SURVIVED WITHOUT A REASON'}{where}: {name}")
    for name in sorted(known & {names[number] for number, result in results.items() if result in killed}):
        print(f"  killed, but in {REASONS.name}: {name}")
    return survivors.keys() <= known


if __name__ == "__main__":
    main()
