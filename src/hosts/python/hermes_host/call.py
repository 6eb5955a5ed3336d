"""One call of a handler: its arguments, its thread and its result."""
from contextvars import ContextVar

from .references import ReferenceTable
from .errors import message_of, error_info, stack_of, current_stack
from .requests import Cancelled
from .services import HandlerLog, Services, Signal

# The running call, for code that does not receive it as an argument.
CURRENT_CALL = ContextVar("hermes_call", default=None)
# The name of the module whose home thread runs, for code outside of calls.
CURRENT_MODULE = ContextVar("hermes_module", default=None)


class Call:
    def __init__(self, frame, module, channel, requests, on_end):
        self.id = frame["id"]
        self.module = module
        self.references = ReferenceTable()
        self._frame = frame
        self._channel = channel
        self._requests = requests
        self._on_end = on_end
        self._has_ended = False
        self._signal = None
        self._worker = None
        self._task = None
        self._coroutine = None
        self._cancelled = False
        self._turn = module.executor.next_turn(bool(frame.get("discard")))

    @property
    def signal(self):
        """Created on demand, because most handlers do not use it."""
        if self._signal is None:
            self._signal = Signal()
            if self._cancelled:
                self._signal._abort()
        return self._signal

    @property
    def log(self):
        return HandlerLog(self._channel, self.module.name)

    @property
    def request_target(self):
        """The fields that identify the call in its requests."""
        return {"call": self.id}

    @property
    def has_ended(self):
        return self._has_ended

    def request(self, method, args, block=False):
        """Sends a request to the gateway; see `PendingRequests.send_request`."""
        if self._has_ended:
            raise RuntimeError(f"{method}: its call has ended")
        refs = []
        sent = list(args)
        for index, arg in enumerate(args):
            ref = self.references.reference_of(arg)
            if ref is not None:
                refs.append([index, ref])
                sent[index] = None
        return self._requests.send_request(self, method, sent, refs, block)

    def start(self):
        """Passes the call to a worker thread. Runs on the reader thread."""
        handler = self.module.handler(self._frame["fn"])
        if handler is None:
            self._turn.end()
            self._send_failure("unloadable", f"it has no function {self._frame['fn']}", "")
            self._on_end(self)
            return
        try:
            self._worker = self.module.executor.acquire(handler.is_async)
        except RuntimeError as error:  # no thread can be started
            self._send_error(error)
            return
        self._worker.submit(lambda worker: self._run(worker, handler), handler.is_async)

    def cancel(self):
        """Cancels the call and reports its stack. Runs on the reader thread."""
        self._cancelled = True
        worker, task = self._worker, self._task
        stack = current_stack(worker.thread, self._coroutine) if worker else ""
        self._channel.send({"t": "cancelAck", "id": self.id, "stack": stack})
        if self._signal is not None:
            self._signal._abort()
        self._requests.cancel(self)
        if task is not None:
            worker.loop.call_soon_threadsafe(task.cancel)

    def _run(self, worker, handler):
        token = CURRENT_CALL.set(self)
        if not handler.is_async:  # the loop must not wait; coroutines begin on it in their order
            self._turn.begin()
        try:
            if self._cancelled:
                raise Cancelled()
            args, keywords = self._arguments(handler)
            value = handler.function(*args, **keywords)
        except BaseException as error:
            self._send_error(error)
        else:
            if not hasattr(type(value), "__await__"):
                self._send_result(value)
            else:
                self._run_awaitable(worker, value)
        finally:
            CURRENT_CALL.reset(token)

    def _run_awaitable(self, worker, awaitable):
        self._coroutine = awaitable
        runner = self._worker = self.module.executor.worker_for_awaitable(worker)
        if runner is worker:
            self._start_task(awaitable)
        else:
            runner.submit(lambda _: self._start_task(awaitable), True)

    def _start_task(self, awaitable):
        self._task = self._worker.ensure_loop().create_task(self._await(awaitable))
        if self._cancelled:
            self._task.cancel()

    async def _await(self, awaitable):
        try:
            value = await awaitable
        except BaseException as error:
            self._send_error(error)
        else:
            self._send_result(value)

    def _arguments(self, handler):
        frame = self._frame
        args, keywords = frame["args"], frame.get("keywords") or {}
        for key, ref in frame.get("refs") or ():
            self.references.track(keywords[key] if isinstance(key, str) else args[key], ref)
        for name in frame.get("callbacks") or ():
            keywords[name] = self._callback(name)
        if frame.get("services") and handler.takes(len(args) + 1):
            args = [*args, Services(self)]
        return args, keywords

    def _callback(self, name):
        return lambda *values, **named: self.request(name, [*values, *named.values()])

    def _send_result(self, value):
        self._has_ended = True
        self._release()
        if self._frame.get("discard"):
            self._channel.send({"t": "callResult", "id": self.id})
            return
        try:
            ref = self.references.reference_of(value)
            self._channel.send({"t": "callResult", "id": self.id, **({"value": value} if ref is None else {"ref": ref})})
        except Exception as error:  # custom mappings may raise any exception
            self._send_failure("unserialisable", f"its result cannot be sent: {message_of(error)}", "")

    def _send_error(self, error):
        self._has_ended = True
        self._release()
        reference = self.references.error_reference(error)
        info = error_info(error)
        number = self._requests.remember_raised(error) if reference is None else None
        if number is not None:
            info["id"] = number
        self._send_failure("threw", message_of(error), stack_of(error), reference, info)

    def _send_failure(self, kind, message, stack, ref=None, parts=None):
        frame = {"t": "callError", "id": self.id, "kind": kind, "message": message, "stack": stack}
        if parts is not None:
            frame["error"] = parts
        self._channel.send(frame if ref is None else {**frame, "ref": ref})

    def _release(self):
        self._turn.end()
        self._on_end(self)
        if self._worker is not None:
            self.module.executor.release(self._worker)

