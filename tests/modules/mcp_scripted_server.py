"""An MCP server of one file and no library, which misbehaves on request: a tool for each way to do so.

It speaks the 2025-11-25 protocol over stdin and stdout, and starts in a few milliseconds. Options come as ``key=value``
arguments: ``delay`` before it answers anything, ``lives`` names a file of a number of starts at which it dies at once,
``tools`` names the tools it has, ``secretive`` lets it not tell them, ``linger`` lets it stay when it should go.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

OPTIONS = dict(word.split("=", 1) for word in sys.argv[1:])
cancelled = []
waiting = {}
extra = []


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def tool(name):
    hints = {"readOnlyHint": name == "echo"}
    return {"name": name, "description": f"does {name}", "inputSchema": {"type": "object"}, "annotations": hints}


def crash(request, given):
    sys.stderr.write("about to crash\n")
    sys.stderr.flush()
    os._exit(3)


def garbage(request, given):
    sys.stdout.write("this is no JSON\n\n{}\n")
    return text("after garbage")


def change(request, given):
    extra.append("another")
    del TOOLS["noise"]
    send({"method": "notifications/tools/list_changed"})
    return text("changed")


def child(request, given):
    return text(str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]).pid))


def noise(request, given):
    sys.stderr.write(f"noise {os.environ.get('TOKEN')}\n")
    sys.stderr.flush()
    return text("made")


def ask(request, given):
    number = request["id"]
    waiting[f"asked {number}"] = number
    send({"id": f"asked {number}", "method": given["method"], "params": given.get("params", {})})


def progress(request, given):
    token = request["params"]["_meta"]["progressToken"]
    for step in range(1, 4):
        about = {"progressToken": token, "progress": step, "total": 3, "message": f"step\n{step}"}
        send({"method": "notifications/progress", "params": about})
    send({"method": "notifications/message", "params": {"level": "info", "data": "a log line"}})
    return text("went")


def refuse(request, given):
    send({"id": request["id"], "error": {"code": -32602, "message": "no\nsuch thing"}})


TOOLS = {
    "echo": lambda request, given: text(json.dumps(given)),
    "env": lambda request, given: text(json.dumps([sorted(os.environ), str(Path.cwd()), sys.argv[1:]])),
    "crash": crash,
    "silent": lambda request, given: None,
    "huge": lambda request, given: text("x" * 200_000),
    "oversize": lambda request, given: text("x" * 2_000_000),
    "garbage": garbage,
    "error": lambda request, given: text("it \x1b[31mfailed\x07", isError=True),
    "change": change,
    "child": child,
    "noise": noise,
    "ask": ask,
    "progress": progress,
    "cancelled": lambda request, given: text(json.dumps(cancelled)),
    "image": lambda request, given: {"content": [{"type": "image", "mimeType": "image/png", "data": "aGk="}]},
    "refuse": refuse,
}


def call(request):
    result = TOOLS[request["params"]["name"]](request, request["params"].get("arguments") or {})
    if result is not None:
        send({"id": request["id"], "result": result})


def answer(message):
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        able = {"tools": {"listChanged": True}, "logging": {}}
        about = {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {"name": "x", "version": "1"}}
        send({"id": number, "result": about})
    elif method == "tools/list" and "secretive" in OPTIONS:
        return
    elif method == "tools/list":
        send({"id": number, "result": {"tools": [tool(name) for name in [*TOOLS, *extra]]}})
    elif method == "tools/call":
        call(message)
    elif method == "notifications/cancelled":
        cancelled.append(message["params"]["requestId"])
    elif method is None:
        told = json.dumps(message.get("result", message.get("error")))
        send({"id": waiting.pop(number), "result": text(told)})
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": "unknown"}})


if "tools" in OPTIONS:
    TOOLS = {name: TOOLS[name] for name in OPTIONS["tools"].split(",")}
if "lives" in OPTIONS:
    lives = Path(OPTIONS["lives"])
    left = int(lives.read_text()) - 1
    lives.write_text(str(left))
    if left >= 0:
        sys.exit(1)
time.sleep(float(OPTIONS.get("delay", 0)))
for line in sys.stdin:
    answer(json.loads(line))
if "linger" in OPTIONS:
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)
