#!/usr/bin/env python3
"""Figures of the release build, on Linux: `cargo build --release -p unity-mcp -p mock-unity && tests/figures.py`."""

import json
import os
import socket
import statistics
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVER = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release" / "unity-mcp"
MOCK_UNITY = os.environ.get("MOCK_UNITY", SERVER.with_name("mock-unity"))
RELOAD = 5  # Seconds.
CLIENT = {"name": "figures", "version": "1"}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}


class Agent:
    def __init__(self, port=0):
        pipe = subprocess.PIPE
        command = [SERVER, "--stdio", "--port", str(port), "--log-level", "warn"]
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
    return state(agent)["queue_length"]


def state(agent):
    answer = json.loads(agent.request("tools/call", {"name": "get_editor_state"}))
    return answer["result"]["structuredContent"]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def after_reloads(count):
    """Milliseconds from the new hello of Unity to the answer of a call that was made during its domain reload."""
    port = free_port()
    agent = Agent(port)
    agent.request("initialize", INITIALIZE)
    command = [MOCK_UNITY, "--json", "--port", str(port), "--tool-time", "0ms"]
    unity = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    hellos = []

    def watch():
        for line in unity.stdout:
            if json.loads(line).get("to_server", {}).get("type") == "hello":
                hellos.append(time.perf_counter())

    threading.Thread(target=watch, daemon=True).start()
    while state(agent)["server_state"] != "ready":
        time.sleep(0.05)
    times = []
    for _ in range(count):
        unity.stdin.write(f"reload {RELOAD}s\n".encode())
        unity.stdin.flush()
        while state(agent)["connected"]:
            time.sleep(0.05)
        answer = json.loads(agent.request("tools/call", {"name": "read_console"}))
        answered = time.perf_counter()
        assert not answer["result"].get("isError"), answer
        time.sleep(0.5)  # The line of the hello may come later.
        times.append((answered - hellos[-1]) * 1000)
    unity.kill()
    agent.end()
    return times


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
    print(f"answer after a reload     {milliseconds(after_reloads(5))} (of {RELOAD} s, from the hello)")


main()
