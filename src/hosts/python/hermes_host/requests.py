"""The requests of handlers to the gateway."""
import sys
import threading


class GatewayError(Exception):
    """An error of the gateway, with its `name` and `code`."""

    def __init__(self, name, message, code=None):
        super().__init__(message)
        self.name = name
        self.code = code


class Cancelled(BaseException):
    """The call was cancelled or its deadline has passed. Not caught by ``except Exception``."""


class PendingRequests:
    """The requests of all calls that have no response yet."""

    def __init__(self, channel):
        self._channel = channel
        self._lock = threading.Lock()
        self._waiting = {}
        self._next = 1

    def send_request(self, call, method, args, refs, block=False):
        """Sends a request. In a coroutine returns an awaitable, elsewhere (or with `block`) waits for the response."""
        loop = None if block else _running_loop()
        waiter = _AsyncWaiter(call, loop) if loop else _BlockingWaiter(call)
        with self._lock:
            number = self._next
            self._next += 1
            self._waiting[number] = waiter
        try:
            self._channel.send({"t": "request", "id": number, **call.request_target, "method": method, "args": args, "refs": refs})
        except BaseException:
            self._waiting.pop(number, None)
            raise
        return waiter.wait()

    def resolve(self, frame):
        """Handles a response. Runs on the reader thread."""
        waiter = self._waiting.pop(frame["id"], None)
        if waiter is not None:
            waiter.settle(frame)

    def cancel(self, call):
        """Cancels the pending requests of a call."""
        with self._lock:
            waiters = [(number, waiter) for number, waiter in self._waiting.items() if waiter.call is call]
            for number, _ in waiters:
                del self._waiting[number]
        for _, waiter in waiters:
            waiter.settle(None)


def _read_response(call, frame):
    if frame is None:
        raise Cancelled()
    if frame["t"] == "result":
        return call.references.track(frame["value"], frame.get("ref"))
    error = frame["error"]
    if error.get("cancelled"):
        raise Cancelled()
    raise call.references.create_error(error)


class _BlockingWaiter:
    def __init__(self, call):
        self.call = call
        self._frame = None
        self._ready = threading.Lock()
        self._ready.acquire()

    def settle(self, frame):
        self._frame = frame
        self._ready.release()

    def wait(self):
        self._ready.acquire()
        return _read_response(self.call, self._frame)


class _AsyncWaiter:
    def __init__(self, call, loop):
        self.call = call
        self._loop = loop
        self._future = loop.create_future()

    def settle(self, frame):
        self._loop.call_soon_threadsafe(self._deliver, frame)

    def _deliver(self, frame):
        if self._future.done():
            return
        try:
            self._future.set_result(_read_response(self.call, frame))
        except Cancelled:
            self._future.cancel()
        except Exception as error:
            self._future.set_exception(error)

    def wait(self):
        return self._future


def _running_loop():
    """The loop of the calling coroutine; None in a synchronous function, even if it runs on a loop."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.get_running_loop() if asyncio.current_task() is not None else None
    except RuntimeError:
        return None
