"""Runs a script of the agent and lets it call tools of the gateway.

The gateway writes JSON lines to stdin: first the script, then the results of tools. This program writes JSON lines to stdout: the
output of the script, its calls of tools, and how it ended. The script itself has an empty stdin, and its output goes through pipes,
so that programs that it starts cannot disturb the lines.
"""
import codecs
import json
import os
import queue
import signal
import sys
import threading
import traceback
import types

requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
lock = threading.Lock()


def send(message):
    # NaN is no JSON: the script gets a ValueError.
    line = json.dumps(message, allow_nan=False) + "\n"
    with lock:
        lines.write(line)
        lines.flush()


def forward(descriptor, name):
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        piece = os.read(descriptor, 65536)
        text = decoder.decode(piece, final=not piece)
        if text:
            send({"type": "output", "stream": name, "text": text})
        if not piece:
            return


def redirect(descriptor, name):
    reader, writer = os.pipe()
    os.dup2(writer, descriptor)
    os.close(writer)
    thread = threading.Thread(target=forward, args=(reader, name), daemon=True)
    thread.start()
    return thread


waiting = {}


def receive():
    for line in requests:
        message = json.loads(line)
        waiting.pop(message["id"]).put(message)
    # The gateway has ended, also by a kill: no one watches over the limits of the script any more.
    os.killpg(os.getpgrp(), signal.SIGKILL)


class ToolError(Exception):
    """The gateway did not run the tool: the limit of calls is reached, for example."""


class Tools:
    def __init__(self):
        self.calls = 0

    def call(self, name, arguments):
        with lock:
            self.calls += 1
            number = self.calls
            results = waiting[number] = queue.Queue()
        send({"type": "call", "id": number, "tool": name, "arguments": arguments})
        message = results.get()
        if "problem" in message:
            raise ToolError(message["problem"])
        try:
            return json.loads(message["result"])
        except ValueError:
            return message["result"]


def tool_function(tools, name, parameters):
    def function(*values, **options):
        if len(values) > len(parameters):
            raise TypeError(f"{name}() takes at most {len(parameters)} arguments: {', '.join(parameters)}")
        return tools.call(name, {**dict(zip(parameters, values)), **options})

    function.__name__ = name
    function.__doc__ = f"{name}({', '.join(parameters)}): the result of the tool, as Python values."
    return function


def run(order):
    tools = Tools()
    module = types.ModuleType("hermes_tools")
    module.ToolError = ToolError
    for name, parameters in order["tools"].items():
        setattr(module, name, tool_function(tools, name, parameters))
    sys.modules["hermes_tools"] = module
    sys.argv = ["script.py"]
    sys.path.insert(0, os.getcwd())
    threading.Thread(target=receive, daemon=True).start()
    try:
        exec(compile(order["code"], "script.py", "exec"), {"__name__": "__main__"})
        return 0
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except BaseException as error:
        # The lines of this program say nothing to the agent.
        trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
        traceback.print_exception(type(error), error, trace)
        return 1


def main():
    order = json.loads(requests.readline())
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    pumps = [redirect(1, "stdout"), redirect(2, "stderr")]
    code = run(order)
    sys.stdout.flush()
    sys.stderr.flush()
    # Closes the writing ends, unless a program that still runs has them.
    os.dup2(null, 1)
    os.dup2(null, 2)
    for pump in pumps:
        pump.join(1)
    send({"type": "end", "code": code})
    os._exit(0)


main()
