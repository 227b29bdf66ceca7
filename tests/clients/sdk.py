"""The official Python SDK, either major, against the real server: `sdk.py SERVER`.

The variable TOOLS has the names of the tools.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from importlib.metadata import version

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from plugin import Plugin

SERVER = sys.argv[1]
VERSION = version("mcp")
MODERN = VERSION.startswith("2.")
TASKS = "io.modelcontextprotocol/tasks"
TOOLS = os.environ["TOOLS"].split()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def stdio_parameters(port):
    return StdioServerParameters(command=SERVER, args=["--stdio", "--port", str(port)])


@asynccontextmanager
async def http_server():
    port = free_port()
    process = subprocess.Popen([SERVER, "--port", str(port)], stderr=subprocess.DEVNULL)
    try:
        yield port
    finally:
        process.terminate()
        assert process.wait(2) == 0


@asynccontextmanager
async def legacy_session(streams):
    async with streams as (read, write, *_):
        async with ClientSession(read, write) as session:
            await session.initialize()
            yield session


@asynccontextmanager
async def agent(kind, mode, **options):
    """A connected client and the port of its server."""
    if kind == "stdio":
        port = free_port()
        if MODERN:
            from mcp import Client

            async with Client(stdio_parameters(port), mode=mode, **options) as client:
                yield client, port
        else:
            async with legacy_session(stdio_client(stdio_parameters(port))) as session:
                yield session, port
        return
    async with http_server() as port:
        async with Plugin(port):
            pass  # The server listens when the plugin is connected.
        url = f"http://127.0.0.1:{port}/mcp"
        if MODERN:
            from mcp import Client

            async with Client(url, mode=mode, **options) as client:
                yield client, port
        else:
            from mcp.client.streamable_http import streamablehttp_client

            async with legacy_session(streamablehttp_client(url)) as session:
                yield session, port


def structured(result):
    content = result.structured_content if MODERN else result.structuredContent
    assert json.loads(result.content[0].text) == content
    return content


def is_error(result):
    return result.is_error if MODERN else result.isError


async def until(client, **wanted):
    while True:
        state = structured(await client.call_tool("get_editor_state", {}))
        if all(state[name] == value for name, value in wanted.items()):
            return


async def converse(kind, mode):
    async with agent(kind, mode) as (client, port), Plugin(port) as plugin:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == TOOLS, tools
        await until(client, connected=True)

        console = structured(await client.call_tool("read_console", {"max_entries": 5}))
        assert console["entries"][0]["message"] == "Null\u001b[31mReference"
        job = structured(await client.call_tool("run_tests", {"wait_ms": 10000}))
        assert job["state"] == "succeeded", job
        status = structured(await client.call_tool("get_job_status", {"job_id": job["job_id"]}))
        assert status["result"]["summary"]["passed"] == 1
        cancel = structured(await client.call_tool("cancel_job", {"job_id": job["job_id"]}))
        assert cancel["status"] == "rejected"

        refused = await client.call_tool("read_console", {"max_entries": 0})
        error = json.loads(refused.content[0].text)["error"]
        assert is_error(refused) and error["code"] == "ERR_INVALID_PARAMS", error
        try:
            await client.call_tool("no_such_tool", {})
            raise SystemExit("an unknown tool was accepted")
        except Exception as error:
            assert "no such tool" in str(error).lower(), error

        reports = []

        async def on_progress(progress, total, message):
            reports.append((progress, message))
            if len(reports) == 2:
                await plugin.status("ready")

        await plugin.status("compiling")
        await until(client, editor_state="compiling")
        structured(await client.call_tool("read_console", {}, progress_callback=on_progress))
        assert len(reports) >= 2 and reports[0] < reports[1], reports

        executed = len(plugin.executed)
        await plugin.status("compiling")
        await until(client, editor_state="compiling")
        request_id = None if MODERN else client._request_id
        waiting = asyncio.create_task(client.call_tool("read_console", {}))
        await asyncio.sleep(0)  # Let the call take its id.
        await until(client, queue_length=1)
        waiting.cancel()
        if not MODERN and kind == "stdio":
            # This major does not send the notification itself.
            await send_cancelled(client, request_id)
        cancelled = await is_noticed(client)
        await plugin.status("ready")
        await until(client, editor_state="ready", queue_length=0, running=None)
        # Legacy over HTTP can cancel only by closing the request, which no SDK does.
        assert cancelled or (kind, mode) == ("http", "legacy")
        assert len(plugin.executed) == executed + (not cancelled)
        cancel_note = "cancel" if cancelled else "no cancel, which it does not send"

        await plugin.status("compiling")
        await until(client, editor_state="compiling")
        in_flight = asyncio.create_task(client.call_tool("read_console", {}))
        await until(client, queue_length=1)
        left = time.monotonic()
    took = time.monotonic() - left
    in_flight.cancel()
    await asyncio.gather(in_flight, return_exceptions=True)
    assert took < 1.5, f"leaving took {took:.2f} s"
    print(f"mcp {VERSION} {kind} {mode}: list, call, error, progress, {cancel_note}; left in {took * 1000:.0f} ms")


async def converse_with_tasks(kind, mode):
    """The SDK leaves tasks to client extensions. This is one."""
    from typing import Any, ClassVar, Literal

    from mcp.client.extension import ClientExtension, ResultClaim
    from mcp_types import CallToolResult, Request, Result

    seen = []

    class Created(Result):
        result_type: Literal["task"]
        taskId: str

    class Task(Result):
        taskId: str
        status: str
        result: dict[str, Any] | None = None

    class AboutTask(Request[dict[str, Any], str]):
        name_param: ClassVar = "taskId"

    async def ask(session, method, task_id, shape):
        return await session.send_request(AboutTask(method=method, params={"taskId": task_id}), shape)

    async def resolve(created, context):
        while True:
            task = await ask(context.session, "tasks/get", created.taskId, Task)
            seen.append(task.status)
            if task.status == "completed":
                await ask(context.session, "tasks/cancel", created.taskId, Result)  # Too late, but valid.
                return CallToolResult.model_validate(task.result)
            await asyncio.sleep(0.05)

    class Tasks(ClientExtension):
        identifier = TASKS

        def claims(self):
            return [ResultClaim(result_type="task", model=Created, resolve=resolve)]

    async with agent(kind, mode, extensions=[Tasks()]) as (client, port), Plugin(port):
        await until(client, connected=True)
        job = structured(await client.call_tool("run_tests", {}))
        assert job["state"] == "succeeded", job
        assert seen[-1] == "completed", seen
    print(f"mcp {VERSION} {kind} {mode}: task ({', '.join(seen)})")


async def is_noticed(client):
    for _ in range(20):
        state = structured(await client.call_tool("get_editor_state", {}))
        if state["queue_length"] == 0:
            return True
        await asyncio.sleep(0.01)
    return False


async def send_cancelled(client, request_id):
    from mcp import types

    params = types.CancelledNotificationParams(requestId=request_id)
    notification = types.CancelledNotification(method="notifications/cancelled", params=params)
    await client.send_notification(types.ClientNotification(notification))


async def main():
    for kind in ["stdio", "http"]:
        for mode in ["legacy", "auto", "2026-07-28"] if MODERN else ["legacy"]:
            await asyncio.wait_for(converse(kind, mode), 60)
            if mode != "legacy":
                await asyncio.wait_for(converse_with_tasks(kind, mode), 60)


if __name__ == "__main__":
    asyncio.run(main())
