"""A real MCP conversation through a program that is installed somehow: `conversation.py [--mock MOCK] COMMAND...`.

It starts COMMAND with `--stdio --port PORT`, initializes, lists the tools and calls one. With a mock, the call goes to
Unity. In the end stdin is closed, and the program must end with exit code 0.
"""

import json
import queue
import re
import shlex
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 60  # Seconds. Emulators are slow.


def main(arguments):
    mock = None
    if arguments[:1] == ["--mock"]:
        mock, arguments = shlex.split(arguments[1]), arguments[2:]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    server = Server([*arguments, "--stdio", "--port", port])
    unity = mock and subprocess.Popen(
        [*mock, "--port", port, "--reconnect", "forever"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        converse(server, unity is not None)
    finally:
        server.process.kill()
        if unity:
            unity.kill()
            unity.wait()


def converse(server, has_unity):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "packages", "version": "1"}}
    told = server.ask("initialize", hello)["serverInfo"]
    version = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M).group(1)
    assert (told["name"], told["version"]) == ("unity-mcp", version), told
    server.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    tools = sorted(tool["name"] for tool in server.ask("tools/list", {})["tools"])
    assert tools == ["cancel_job", "get_editor_state", "get_job_status", "read_console", "run_tests"], tools
    state = server.call("get_editor_state")
    assert state["server_version"] == version, state
    if has_unity:
        console = server.call_when_ready("read_console")
        assert console["count"] > 0, console
    server.process.stdin.close()
    assert server.process.wait(PATIENCE) == 0, server.process.returncode
    how = "and read the console of a mock Unity" if has_unity else "without Unity"
    print(f"unity-mcp {version}: initialized, listed {len(tools)} tools {how}, ended with exit code 0")


class Server:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.lines = queue.Queue()
        self.asked = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def say(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.asked += 1
        self.say({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})
        while True:
            line = self.lines.get(timeout=PATIENCE)
            assert line is not None, f"the program ended before it answered {method}"
            message = json.loads(line)
            if message.get("id") == self.asked:
                assert "result" in message, message
                return message["result"]

    def call(self, tool):
        answer = self.ask("tools/call", {"name": tool, "arguments": {}})
        return json.loads(answer["content"][0]["text"])

    def call_when_ready(self, tool):
        """The mock may need longer to connect than a call waits."""
        end = time.monotonic() + PATIENCE
        while True:
            answer = self.call(tool)
            if "error" not in answer:
                return answer
            assert answer["error"]["code"] == "ERR_EDITOR_NOT_READY" and time.monotonic() < end, answer


main(sys.argv[1:])
