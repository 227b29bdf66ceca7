"""The MCP Inspector's command line against the real server: `inspector.py SERVER INSPECTOR`."""

import asyncio
import json
import sys

from plugin import Plugin
from sdk import TOOLS, free_port, http_server

SERVER, INSPECTOR = sys.argv[1:3]


async def inspect(era, target, *arguments):
    """Exit code, and what was printed as JSON."""
    flags = ["--cli", "-q", "--format", "json", "--protocol-era", era, *arguments]
    process = await asyncio.create_subprocess_exec(
        INSPECTOR, *flags, *target, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    stdout, stderr = await process.communicate()
    assert stdout, stderr.decode()
    return process.returncode, json.loads(stdout)["result"]


async def converse(kind, era, target, port):
    code, listed = await inspect(era, target, "--strict", "--method", "tools/list")
    assert code == 0 and [tool["name"] for tool in listed["tools"]] == TOOLS, listed

    call = ["--method", "tools/call", "--tool-name"]
    reading = asyncio.create_task(inspect(era, target, *call, "read_console"))
    async with Plugin(port):
        code, read = await reading
    assert code == 0 and read["structuredContent"]["count"] == 1, read

    code, refused = await inspect(era, target, *call, "read_console", "--tool-args-json", '{"max_entries":0}')
    error = json.loads(refused["content"][0]["text"])["error"]
    assert code == 5 and error["code"] == "ERR_INVALID_PARAMS", refused

    # The inspector waits for a task by itself. The legacy era has no tasks.
    running = asyncio.create_task(inspect(era, target, *call, "run_tests"))
    async with Plugin(port) as plugin:
        code, ran = await running
        job = ran["structuredContent"]
        assert code == 0 and job["state"] == ("queued" if era == "legacy" else "succeeded"), ran
        assert [frame["type"] for frame in plugin.executed] == ["submit_job"]
    kind_of_run = "job" if era == "legacy" else "task"
    print(f"inspector {kind} {era}: strict list, call, error, {kind_of_run}")


async def main():
    for era in ["legacy", "auto", "modern"]:
        port = free_port()
        await converse("stdio", era, [SERVER, "--", "--stdio", "--port", str(port)], port)
        async with http_server() as port:
            await converse("http", era, [f"http://127.0.0.1:{port}/mcp"], port)


asyncio.run(main())
