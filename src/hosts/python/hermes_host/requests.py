"""The requests of handlers to the gateway."""
import sys
import threading


class GatewayError(Exception):
    """An error of the gateway, with its `name` and `code`."""

    def __init__(self, name, message, code=None):
        super().__init__(message)
        self.name = name
        self.code = code


class GatewayRuntimeError(GatewayError, RuntimeError):
    """A call at the wrong time, such as a second `next_call`."""


class GatewayValueError(GatewayError, ValueError):
    """A name that is taken."""


class GatewayPermissionError(GatewayError, PermissionError):
    """Something that the configuration does not allow the plugin."""


_CLASS_BY_CODE = {
    "plugins/not-allowed": GatewayPermissionError,
    "middleware/next-called-twice": GatewayRuntimeError,
    "middleware/next-revoked": GatewayRuntimeError,
    "middleware/name-taken": GatewayValueError,
    "plugins/tool-taken": GatewayValueError,
    "plugins/command-taken": GatewayValueError,
    "plugins/daemon-taken": GatewayValueError,
}


def create_gateway_error(error):
    """The exception for an error of the gateway."""
    code = error.get("code")
    return _CLASS_BY_CODE.get(code, GatewayError)(error["name"], error["message"], code)


class Cancelled(BaseException):
    """The call was cancelled or its deadline has passed. Not caught by ``except Exception``."""


# More errors of callbacks than this are not kept while requests are waiting.
MAX_RAISED = 256


class PendingRequests:
    """The requests of all calls that have no response yet."""

    def __init__(self, channel):
        self._channel = channel
        self._lock = threading.Lock()
        self._waiting = {}
        self._next = 1
        # Errors of callbacks, by number. A waiting request may fail with one of them, and then raises the same object.
        self._raised = {}
        self._next_raised = 1

    def remember_raised(self, error):
        """The number of an error that a callback raised; None if no request can fail with it."""
        with self._lock:
            if not self._waiting:
                return None
            number = self._next_raised
            self._next_raised += 1
            self._raised[number] = error
            if len(self._raised) > MAX_RAISED:
                del self._raised[next(iter(self._raised))]
            return number

    def raised(self, number):
        return self._raised.get(number)

    def _take(self, number):
        with self._lock:
            waiter = self._waiting.pop(number, None)
            if not self._waiting:
                self._raised = {}
            return waiter

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
            self._take(number)
            raise
        return waiter.wait()

    def resolve(self, frame):
        """Handles a response. Runs on the reader thread."""
        raised = self.raised(frame["error"].get("raised")) if frame["t"] == "error" else None
        waiter = self._take(frame["id"])
        if waiter is not None:
            waiter.settle(frame if raised is None else {**frame, "raised": raised})

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
    raised = frame.get("raised")
    raise call.references.track_error(create_gateway_error(error) if raised is None else raised, error)


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
    except (RuntimeError, AttributeError):  # AttributeError: another thread is importing asyncio, so this one has no loop
        return None
