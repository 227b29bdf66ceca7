"""A small Unity plugin: just enough for the tests of MCP clients."""

import asyncio
import json

import websockets


class Plugin:
    """Answers every request at once. The test sets its state."""

    def __init__(self, port):
        self.port = port
        self.executed = []
        self.seq = 0

    async def __aenter__(self):
        self.socket = await dial(f"ws://127.0.0.1:{self.port}/unity")
        await self.say("hello", plugin_version="0.1.0", state="ready")
        self.task = asyncio.create_task(self.serve())
        return self

    async def __aexit__(self, *_):
        self.task.cancel()
        await self.socket.close()

    async def say(self, kind, **fields):
        await self.socket.send(json.dumps({"type": kind, "protocol_version": 1, **fields}))

    async def status(self, state):
        self.seq += 1
        await self.say("editor_status", state=state, seq=self.seq)

    async def serve(self):
        async for text in self.socket:
            frame = json.loads(text)
            request = {"request_id": frame.get("request_id")}
            match frame["type"]:
                case "ping":
                    await self.say("pong")
                case "execute":
                    self.executed.append(frame)
                    entry = {"type": "error", "message": "Null\u001b[31mReference", "stack_trace": ""}
                    console = {"entries": [entry], "count": 1, "truncated": False}
                    await self.say("result", **request, status="ok", result=console)
                case "submit_job":
                    self.executed.append(frame)
                    await self.say("submit_job_result", **request, status="accepted", job_id="u-1")
                case "get_job_status":
                    summary = {"total": 1, "passed": 1, "failed": 0, "skipped": 0, "duration_ms": 5}
                    result = {"summary": summary, "failed_tests": []}
                    job = {"job_id": frame["job_id"], "state": "succeeded", "result": result}
                    await self.say("job_status", **request, **job)


async def dial(url):
    """Connects, and tries again while the server does not listen."""
    for _ in range(100):
        try:
            return await websockets.connect(url, proxy=None)
        except OSError:
            await asyncio.sleep(0.1)
    raise SystemExit(f"no server listens at {url}")
