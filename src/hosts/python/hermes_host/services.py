"""The third argument of a handler, if it accepts one."""
import threading


class Signal:
    """Signals that the call was cancelled."""

    def __init__(self):
        self._event = threading.Event()

    @property
    def aborted(self):
        return self._event.is_set()

    def wait(self, seconds=None):
        """Waits for the cancellation, at most that long, and returns whether it has happened. Blocks its thread."""
        return self._event.wait(seconds)

    def _abort(self):
        self._event.set()


class HandlerLog:
    """Writes to the log of the gateway: ``log.info("sent", count=3)``."""

    def __init__(self, channel, module):
        self._channel, self._module = channel, module

    def debug(self, message, **fields):
        self._channel.log(self._module, "debug", message, fields)

    def info(self, message, **fields):
        self._channel.log(self._module, "info", message, fields)

    def warning(self, message, **fields):
        self._channel.log(self._module, "warn", message, fields)

    warn = warning

    def error(self, message, **fields):
        self._channel.log(self._module, "error", message, fields)


class Gateway:
    """Functions of the gateway. In a coroutine the result must be awaited; elsewhere the call blocks."""

    def __init__(self, request):
        self._request = request

    def send(self, target, text):
        """Sends a message through the outbox."""
        return self._request("send", [target, text])

    def start_agent(self, prompt, options=None, *, max_iterations=None, deliver=None, route=None, role=None):
        """Starts a background session and returns its task id without waiting for it."""
        named = {"maxIterations": max_iterations, "deliver": deliver, "route": route, "role": role}
        return self._request(
            "startAgent",
            [prompt, {**(options or {}), **{name: value for name, value in named.items() if value is not None}}],
        )

    startAgent = start_agent


class Services:
    """`signal`, `log` and `gateway`, as attributes."""

    def __init__(self, call):
        self.signal = call.signal
        self.log = call.log
        self.gateway = Gateway(call.request)
