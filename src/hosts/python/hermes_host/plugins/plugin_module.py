"""A plugin: a package whose ``register(ctx)`` says what it wants to be called for."""
import inspect

from ..call import CURRENT_CALL
from ..references import ReferenceTable
from ..loader import Module
from .callback import Callback
from .context import PluginContext
from .logs import forward_logging
from .executor import PluginExecutor


class BackgroundCaller:
    """Asks the gateway when no call runs: while the plugin is loaded, or from a thread of its own."""

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

    def load(self):
        """Imports the package and calls `register`. Raises what they raise."""
        super().load()
        register = getattr(self._module, self.entry)
        made = register(PluginContext(self, self._info))
        if inspect.isawaitable(made):
            self.executor.run_on_loop(made)
        self._loaded = True
        self.send_request("registered", [self._keys], block=True)

    def prepare(self, worker):
        """Coroutines have a loop of their own."""

    def handler(self, name):
        """A callback by the name it was registered under, or None."""
        return self._callbacks.get(name)

    def send_request(self, method, args, block=False):
        """Asks on behalf of the call that runs here; without one, on behalf of the plugin."""
        call = CURRENT_CALL.get()
        asker = self._background if call is None or call.has_ended else call
        return asker.request(method, args, block)

    def register(self, kind, name, details, callbacks):
        """
        Tells the gateway what is registered, with its callbacks by the part they play. Returns the key under which it is
        known; raises what the gateway refuses it with.
        """
        number = self._counts[kind, name] = self._counts.get((kind, name), 0) + 1
        key = f"{kind} {name} {number}"
        parts = {}
        for part, function in callbacks.items():
            if function is None:
                continue
            if not callable(function):
                raise TypeError(f"register_{kind} {name}: expected a function, found {type(function).__name__}")
            callback = self._callbacks[f"{key} {part}"] = Callback(function)
            parts[part] = callback.argument_names
        spec = {"key": key, "kind": kind, "name": name, "parts": parts, "late": self._loaded, **details}
        try:
            taken = self.send_request("register", [spec], block=True)
        except BaseException:
            self._remove_callbacks(key, parts)
            raise
        if taken:
            self._keys.append(key)
        else:
            self._remove_callbacks(key, parts)
        return key

    def _remove_callbacks(self, key, parts):
        for part in parts:
            del self._callbacks[f"{key} {part}"]
