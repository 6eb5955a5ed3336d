"""A plugin: a package whose ``register(ctx)`` registers callbacks."""
import functools
import inspect
import sys

from ..call import CURRENT_CALL
from ..references import ReferenceTable
from ..loader import Module
from .callback import Callback
from . import hermes_modules
from .context import PluginContext
from .gateway_event import prepare_arguments
from .logs import forward_logging
from .executor import PluginExecutor


class BackgroundCaller:
    """Sends requests outside of calls: while the plugin is loading, or from a thread of its own."""

    def __init__(self, name, requests):
        self.request_target = {"module": name}
        self.references = ReferenceTable()
        self._requests = requests

    def request(self, method, args, block=False):
        return self._requests.send_request(self, method, args, [], block)


class PluginModule(Module):
    def __init__(self, name, path, entry, import_as, about, channel, requests):
        super().__init__(name, path, entry, import_as, PluginExecutor(name))
        self._info = about
        self._background = BackgroundCaller(name, requests)
        self._callbacks = {}
        self._keys = []
        self._counts = {}
        self._loaded = False
        forward_logging(channel, name)
        hermes_modules.install()

    def load(self):
        """Imports the package and calls `register`. Raises their errors."""
        super().load()
        made = self.register_function(PluginContext(self, self._info))
        if inspect.isawaitable(made):
            self.executor.run_on_loop(made)
        self._loaded = True
        self.send_request("registered", [self._keys], block=True)

    def complete(self, module):
        """As in Hermes, a module without `register` registers the memory provider that it defines."""
        if hasattr(module, self.entry):
            return
        base = getattr(sys.modules.get("agent.memory_provider"), "MemoryProvider", None)
        defined = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == self.import_as]
        found = next((one for one in defined if base is not None and issubclass(one, base)), None)
        if found is not None:
            setattr(module, self.entry, lambda context: context.register_memory_provider(found()))

    def register_function(self, context):
        """Calls `register` of the plugin."""
        return getattr(self._module, self.entry)(context)

    def prepare(self, worker):
        """Does nothing, because the executor creates the loop for coroutines."""

    def handler(self, name):
        """The callback with this name, or None."""
        return self._callbacks.get(name)

    def send_request(self, method, args, block=False):
        """Sends a request for the running call, or outside of a call for the plugin."""
        call = CURRENT_CALL.get()
        sender = self._background if call is None or call.has_ended else call
        return sender.request(method, args, block)

    def register(self, kind, name, details, callbacks):
        """
        Registers callbacks with the gateway, by their part in the registration. Returns the key of the registration. Raises
        the error of the gateway.
        """
        number = self._counts[kind, name] = self._counts.get((kind, name), 0) + 1
        key = f"{kind} {name} {number}"
        parts = {}
        for part, function in callbacks.items():
            if function is None:
                continue
            if not callable(function):
                raise TypeError(f"register_{kind} {name}: expected a function, found {type(function).__name__}")
            callback = self._callbacks[f"{key} {part}"] = Callback(function, self._preparation_of(kind, name))
            parts[part] = callback.argument_names
        spec = {"key": key, "kind": kind, "name": name, "parts": parts, "late": self._loaded, **details}
        try:
            accepted = self.send_request("register", [spec], block=True)
        except BaseException:
            self._remove_callbacks(key, parts)
            raise
        if accepted:
            self._keys.append(key)
        else:
            self._remove_callbacks(key, parts)
        return key

    def _preparation_of(self, kind, name):
        return functools.partial(prepare_arguments, self) if (kind, name) == ("hook", "pre_gateway_dispatch") else None

    def _remove_callbacks(self, key, parts):
        for part in parts:
            del self._callbacks[f"{key} {part}"]
