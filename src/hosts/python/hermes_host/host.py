"""Reads and handles the frames of the gateway."""
import atexit
import json
import os
import sys
import traceback

from .call import CURRENT_MODULE, Call
from .errors import files_in, message_of, location_of, stack_of, current_stack
from .loader import Module
from .prints import capture_prints
from .requests import PendingRequests
from .channel import FD_IN, Channel


class Host:
    def __init__(self, settings):
        self._channel = Channel(settings["maxFrameBytes"])
        self._requests = PendingRequests(self._channel)
        self._modules = {}
        self._calls = {}
        self._loads = {}
        capture_prints(self._channel)

    def send_ready(self):
        self._channel.send({"t": "ready", "runtime": sys.version.split()[0]})

    def load(self, frame):
        module = self._module(frame, frame["module"], frame["path"], frame["entry"], frame["importAs"])
        self._modules[module.name] = module
        self._loads[frame["id"]] = module
        module.executor.home_worker.submit(lambda worker: self._load(frame["id"], module, worker), False)

    def _module(self, frame, *about):
        if "plugin" not in frame:
            return Module(*about)
        # Imported on demand, because hosts for hooks do not need it.
        from .plugins.plugin_module import PluginModule

        return PluginModule(*about, frame["plugin"], self._channel, self._requests)

    def _load(self, number, module, worker):
        CURRENT_MODULE.set(module.name)
        try:
            module.load()
            module.prepare(worker)
            self._channel.send({"t": "loadResult", "id": number, "files": module.files()})
        except BaseException as error:
            message = f"{location_of(error, module.path)}: {message_of(error)}"
            files = sorted({*module.files(), *files_in(error, module.folder)})
            self._channel.send({"t": "loadError", "id": number, "message": message, "stack": stack_of(error), "files": files})
        finally:
            del self._loads[number]

    def call(self, frame):
        call = Call(frame, self._modules[frame["module"]], self._channel, self._requests, self._remove_call)
        self._calls[call.id] = call
        call.start()

    def _remove_call(self, call):
        self._calls.pop(call.id, None)

    def cancel(self, frame):
        number = frame["id"]
        loading = self._loads.get(number)
        if loading is not None:
            stack = current_stack(loading.executor.home_worker.thread, None)
            self._channel.send({"t": "cancelAck", "id": number, "stack": stack})
        call = self._calls.get(number)
        if call is not None:
            call.cancel()

    def result(self, frame):
        self._requests.resolve(frame)

    error = result


def run():
    """Handles frames until the gateway stops this host or exits."""
    settings = json.loads(sys.argv[1])
    # Hides the arguments of the host from handlers.
    del sys.argv[1:]
    host = Host(settings)
    host.send_ready()
    try:
        with os.fdopen(FD_IN, "rb", closefd=False) as lines:
            for line in lines:
                frame = json.loads(line)
                getattr(host, frame["t"])(frame)
    except Exception:
        traceback.print_exc()
    # `sys.exit` would wait for threads that handlers have started.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
