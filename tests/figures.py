#!/usr/bin/env python3
"""Figures of the release build, on Linux: `cargo build --release -p unity-mcp && tests/figures.py`."""

import json
import os
import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVER = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "unity-mcp"
CLIENT = {"name": "figures", "version": "1"}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}


class Agent:
    def __init__(self):
        pipe = subprocess.PIPE
        command = [SERVER, "--stdio", "--port", "0", "--log-level", "warn"]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        self.id = 0

    def send(self, method, params):
        self.id += 1
        request = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.send(method, params)
        return self.process.stdout.readline()

    def resident_kb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def end(self):
        began = time.perf_counter()
        self.process.stdin.close()
        code = self.process.wait()
        assert code == 0, code
        return (time.perf_counter() - began) * 1000


def milliseconds(values):
    return f"p50 {statistics.median(values):.1f} ms, worst {max(values):.1f} ms of {len(values)}"


def first_list():
    began = time.perf_counter()
    agent = Agent()
    agent.request("initialize", INITIALIZE)
    agent.request("tools/list", {})
    took = (time.perf_counter() - began) * 1000
    agent.end()
    return took


def exit_with_call():
    agent = Agent()
    agent.request("initialize", INITIALIZE)
    agent.send("tools/call", {"name": "read_console"})
    while waiting(agent) != 1:
        pass
    return agent.end()


def waiting(agent):
    state = json.loads(agent.request("tools/call", {"name": "get_editor_state"}))
    return state["result"]["structuredContent"]["queue_length"]


def main():
    tree = ["cargo", "tree", "-p", "unity-mcp", "-e", "normal", "--prefix", "none", "--no-dedupe"]
    crates = set(subprocess.run(tree, cwd=ROOT, capture_output=True, text=True).stdout.splitlines())
    print(f"release binary            {SERVER.stat().st_size / 1e6:.1f} MB")
    print(f"crates, normal tree       {len(crates)}")
    print(f"spawn to first tools/list {milliseconds([first_list() for _ in range(50)])}")
    agent = Agent()
    agent.request("initialize", INITIALIZE)
    print(f"tools/list answer         {len(agent.request('tools/list', {}))} bytes")
    idle = agent.resident_kb()
    began = time.perf_counter()
    for _ in range(10_000):
        agent.request("tools/call", {"name": "get_editor_state"})
    took = (time.perf_counter() - began) / 10_000
    print(f"resident, idle            {idle / 1024:.1f} MB")
    print(f"resident, 10,000 calls    {agent.resident_kb() / 1024:.1f} MB ({took * 1e6:.0f} us a call)")
    print(f"EOF, idle                 {agent.end():.1f} ms")
    print(f"EOF, call in flight       {milliseconds([exit_with_call() for _ in range(20)])}")


main()
