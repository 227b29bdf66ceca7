"""Two agents, one Unity that compiles, reloads, drops its socket and floods, for some minutes:
`soak.py SERVER MOCK_UNITY MINUTES [SEED]`.

What the agents were told is compared with what reached Unity: nothing twice, and nothing that was said not to have run. The log has one event per line, and nothing that a terminal would obey.
"""

import asyncio
import collections
import http.client
import itertools
import json
import random
import sys
import tempfile
import time
from pathlib import Path

SERVER, MOCK_UNITY, MINUTES = sys.argv[1], sys.argv[2], float(sys.argv[3])
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(10**6)

SCRIPT = """
- { every: 23s, do: compile 1500ms }
- { every: 31s, do: reload 1s }
- { every: 11s, do: drop 700ms }
- { every: 17s, do: close 300ms }
- { every: 29s, do: freeze 2s }
- { every: 7s, do: answer flood }
- { every: 13s, do: answer late 800ms }
- { every: 19s, do: answer twice }
- { every: 37s, do: answer misaddressed }
- { every: 5s, do: 'log error "soaked"' }
- { every: 3s, do: 'say {"type": "shrug", "protocol_version": 1}' }
- { every: 97s, do: restart 2s }
"""


class Books:
    """What reached Unity, by the names that agents gave their calls."""

    def __init__(self):
        self.came = collections.Counter()
        self.told = {}

    def check(self):
        twice = [name for name, times in self.came.items() if times > 1]
        lies = [name for name, word in self.told.items() if word == "not_executed" and self.came[name]]
        unheard = [name for name, word in self.told.items() if word == "ok" and not self.came[name]]
        assert not (twice or lies or unheard), (twice, lies, unheard)


async def watch_unity(stream, books):
    """What reaches Unity may run."""
    async for line in stream:
        passing = json.loads(line)
        sent = passing.get("from_server") or {}
        if sent.get("type") in ("execute", "submit_job"):
            books.came[sent["client_request_id"]] += 1


class Agent:
    """Line by line over stdio, or a request at a time over HTTP."""

    def __init__(self, name, books, ask):
        self.name, self.books, self.ask = name, books, ask
        self.count = itertools.count(1)
        self.outcomes = collections.Counter()
        self.worst = 0

    async def call(self, tool, arguments):
        name = f"{self.name}-{next(self.count)}"
        began = time.monotonic()
        result = await asyncio.wait_for(self.ask(tool, {**arguments, "client_request_id": name}), 120)
        self.worst = max(self.worst, time.monotonic() - began)
        content = json.loads(result["content"][0]["text"])
        word = content["error"]["details"]["execution_guarantee"] if result.get("isError") else "ok"
        code = content["error"]["code"] if result.get("isError") else "ok"
        self.outcomes[code] += 1
        if tool == "run_tests" and word == "ok":
            word = "accepted"  # It may end before its turn.
        if tool in ("read_console", "run_tests"):
            assert name not in self.books.told, "answered twice"
            self.books.told[name] = word
        return content

    async def work(self, until):
        since = None
        while time.monotonic() < until:
            kind = random.random()
            if kind < 0.5:
                console = await self.call("read_console", {"since": since} if since else {"max_entries": 20})
                since = console.get("cursor", since)
            elif kind < 0.8:
                await self.call("get_editor_state", {})
            elif kind < 0.9:
                await self.call("run_tests", {"filter": "Player", "wait_ms": random.choice([0, 2000, 20000])})
            else:  # A handful at once.
                await asyncio.gather(*[self.call("read_console", {"max_entries": 5}) for _ in range(8)])
            await asyncio.sleep(random.random() / 10)


def stdio_asker(process):
    waiting, ids = {}, itertools.count(1)

    async def read():
        async for line in process.stdout:
            message = json.loads(line)
            waiting.pop(message["id"]).set_result(message)

    async def request(method, params):
        number = next(ids)
        waiting[number] = asyncio.get_running_loop().create_future()
        line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        future = waiting[number]
        process.stdin.write(line.encode() + b"\n")
        await process.stdin.drain()
        return (await future)["result"]

    async def ask(tool, arguments):
        return await request("tools/call", {"name": tool, "arguments": arguments})

    return read, request, ask


def http_asker(port):
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
    }

    def post(tool, arguments):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request("POST", "/mcp", json.dumps(body), headers)
        answer = connection.getresponse().read()
        connection.close()
        return json.loads(answer.split(b"data:")[-1])["result"]

    return lambda tool, arguments: asyncio.to_thread(post, tool, arguments)


def resident(process):
    return int(Path(f"/proc/{process.pid}/status").read_text().split("VmRSS:")[1].split()[0])


def descriptors(process):
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


def check_log(text):
    for line in text.splitlines():
        assert line.isprintable() and line[:2] == "20", f"not one event: {line!r}"


async def main():
    random.seed(SEED)  # Of what agents do, and of the mock; when is up to the machine.
    print(f"seed {SEED}")
    pipe = asyncio.subprocess.PIPE
    # A failed run leaves its log here.
    folder = Path("target/soak")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "script.yaml"
        script.write_text(SCRIPT)
        log = (folder / "server.log").open("wb+")
        server = await asyncio.create_subprocess_exec(
            SERVER, "--stdio", "--port", "0", stdin=pipe, stdout=pipe, stderr=log, limit=2**24
        )
        while b"listening" not in (text := Path(log.name).read_bytes()):
            await asyncio.sleep(0.02)
        port = int(text.split(b"http://127.0.0.1:")[1].split(b"/")[0])
        unity = await asyncio.create_subprocess_exec(
            MOCK_UNITY, "--json", "--port", str(port), "--script", str(script), "--reload", "800ms", "--seed", str(SEED),
            stdin=asyncio.subprocess.DEVNULL, stdout=pipe, limit=2**24,
        )
        books = Books()
        watching = asyncio.create_task(watch_unity(unity.stdout, books))
        read, request, ask = stdio_asker(server)
        reading = asyncio.create_task(read())
        client = {"name": "soak", "version": "1"}
        await request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        agents = [Agent("stdio", books, ask), Agent("http", books, http_asker(port))]
        await agents[0].call("read_console", {})
        start, open_at_start = resident(server), descriptors(server)
        until = time.monotonic() + MINUTES * 60
        working = asyncio.gather(*[agent.work(until) for agent in agents])
        peak = start
        while not working.done():
            await asyncio.wait([working], timeout=10)
            peak = max(peak, resident(server))
            calls = sum(sum(agent.outcomes.values()) for agent in agents)
            left = max(0, until - time.monotonic())
            print(f"{left:4.0f} s left: {calls} calls, {resident(server)} KiB, {descriptors(server)} descriptors", flush=True)
        await working
        assert server.returncode is None, "the server has ended"
        unity.terminate()
        await unity.wait()
        await watching
        await asyncio.sleep(1)
        books.check()
        end, open_at_end = resident(server), descriptors(server)
        server.stdin.close()
        assert await asyncio.wait_for(server.wait(), 2) == 0
        reading.cancel()
        check_log(Path(log.name).read_text())
        for agent in agents:
            print(f"{agent.name}: {dict(agent.outcomes)}, the slowest took {agent.worst:.1f} s")
        print(f"{sum(books.came.values())} requests reached Unity, none twice; {len(books.told)} calls that Unity runs, no lie")
        print(f"memory: {start} KiB at the start, {peak} at the most, {end} at the end")
        print(f"descriptors: {open_at_start} at the start, {open_at_end} at the end")
        assert peak - start < 32 * 1024 and open_at_end <= open_at_start + 2


asyncio.run(main())
