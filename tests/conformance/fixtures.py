"""The tools that the conformance suite expects, played by the tools that there are: `fixtures.py PORT SERVER_PORT`.

The suite calls tools of a server made for it. This stands before the real server and changes nothing but the
name and the arguments of a call, so that what is judged is what the real server says. A name that is not
here goes through as it is, and the server refuses it.
"""

import asyncio
import json
import sys

PORT, SERVER_PORT = map(int, sys.argv[1:3])


def run_tests(seconds, **more):
    """`tests.py` has test runs of so many seconds."""
    return "run_tests", {"filter": f"Sleep{seconds}s.", **more}


def translate(name, arguments):
    match name:
        case "greet" | "test_simple_text":
            return "get_editor_state", {}
        case "slow_compute":
            return run_tests(arguments.get("seconds", 1))
        case "failing_job":
            return run_tests(60, timeout_ms=1000)  # It takes too long: an error of the tool.
        case "test_error_handling":
            return "read_console", {"max_entries": 0}
        case "test_tool_with_progress":
            return run_tests(4, wait_ms=30000)
    return name, arguments


async def read_request(reader):
    """The lines of the head, and the body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2]
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    return head, await reader.readexactly(int(fields.get("content-length", 0)))


def rewrite(head, body):
    try:
        request = json.loads(body)
        params = request["params"]
        if request["method"] != "tools/call":
            raise KeyError
        old = params["name"]
        params["name"], params["arguments"] = translate(old, params.get("arguments") or {})
        head = [line.replace(old, params["name"]) if line.lower().startswith("mcp-name:") else line for line in head]
        body = json.dumps(request).encode()
    except (ValueError, KeyError, TypeError):
        pass  # Not a call: it goes through as it is.
    kept = [line for line in head if not line.lower().startswith(("content-length:", "connection:"))]
    # The server knows its own port; anything but ours in its place is a test of the server.
    kept = [line.replace(f":{PORT}", f":{SERVER_PORT}") if line.lower().startswith("host:") else line for line in kept]
    return "\r\n".join([*kept, f"Content-Length: {len(body)}", "Connection: close", "", ""]).encode() + body


async def pump(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def serve(reader, writer):
    upstream = None
    try:
        head, body = await read_request(reader)
        from_server, upstream = await asyncio.open_connection("127.0.0.1", SERVER_PORT)
        upstream.write(rewrite(head, body))
        answer = asyncio.create_task(pump(from_server, writer))
        left = asyncio.create_task(reader.read(1))  # A client that leaves takes its call back.
        await asyncio.wait([answer, left], return_when=asyncio.FIRST_COMPLETED)
        answer.cancel()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        for end in (writer, upstream):
            if end:
                end.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", PORT)
    async with server:
        await server.serve_forever()


asyncio.run(main())
