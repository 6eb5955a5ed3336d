"""One call of a handler: its arguments, where it runs, how it ends."""
from contextvars import ContextVar

from .references import Copies
from .errors import message_of, parts_of, stack_of, where_is
from .requests import Cancelled
from .services import Log, Services, Signal

# The call that runs here, for those who are not handed it.
CURRENT = ContextVar("hermes_call", default=None)


class Call:
    def __init__(self, frame, module, wire, requests, ended):
        self.id = frame["id"]
        self.module = module
        self.copies = Copies()
        self._frame = frame
        self._wire = wire
        self._requests = requests
        self._ended = ended
        self._over = False
        self._signal = None
        self._worker = None
        self._task = None
        self._coroutine = None
        self._cancelled = False

    @property
    def signal(self):
        """Made on demand: most handlers do not look at it."""
        if self._signal is None:
            self._signal = Signal()
            if self._cancelled:
                self._signal._abort()
        return self._signal

    @property
    def log(self):
        return Log(self._wire, self.module.name)

    @property
    def address(self):
        """How its requests are marked."""
        return {"call": self.id}

    @property
    def over(self):
        return self._over

    def request(self, method, args, block=False):
        """Asks the gateway for something; see `Requests.ask`."""
        if self._over:
            raise RuntimeError(f"{method}: the call it belongs to is over")
        refs = []
        sent = list(args)
        for index, arg in enumerate(args):
            ref = self.copies.unchanged(arg)
            if ref is not None:
                refs.append([index, ref])
                sent[index] = None
        return self._requests.ask(self, method, sent, refs, block)

    def start(self):
        """Hands the call to a thread. On the thread that reads."""
        handler = self.module.handler(self._frame["fn"])
        if handler is None:
            self._send_failure("unloadable", f"it has no function {self._frame['fn']}", "")
            self._ended(self)
            return
        try:
            self._worker = self.module.place.take(handler.is_async)
        except RuntimeError as error:  # no thread can be had
            self._fail(error)
            return
        self._worker.post(lambda worker: self._run(worker, handler), handler.is_async)

    def cancel(self):
        """Asks it to end, and says where it is. On the thread that reads."""
        self._cancelled = True
        worker, task = self._worker, self._task
        stack = where_is(worker.thread, self._coroutine) if worker else ""
        self._wire.send({"t": "where", "id": self.id, "stack": stack})
        if self._signal is not None:
            self._signal._abort()
        self._requests.cancel(self)
        if task is not None:
            worker.loop.call_soon_threadsafe(task.cancel)

    def _run(self, worker, handler):
        token = CURRENT.set(self)
        try:
            if self._cancelled:
                raise Cancelled()
            args, keywords = self._arguments(handler)
            value = handler.function(*args, **keywords)
        except BaseException as error:
            self._fail(error)
        else:
            if not hasattr(type(value), "__await__"):
                self._finish(value)
            else:
                self._wait_for(worker, value)
        finally:
            CURRENT.reset(token)

    def _wait_for(self, worker, awaitable):
        self._coroutine = awaitable
        runner = self._worker = self.module.place.runner_for(worker)
        if runner is worker:
            self._begin(awaitable)
        else:
            runner.post(lambda _: self._begin(awaitable), True)

    def _begin(self, awaitable):
        self._task = self._worker.ensure_loop().create_task(self._await(awaitable))
        if self._cancelled:
            self._task.cancel()

    async def _await(self, awaitable):
        try:
            value = await awaitable
        except BaseException as error:
            self._fail(error)
        else:
            self._finish(value)

    def _arguments(self, handler):
        frame = self._frame
        args, keywords = frame["args"], frame.get("keywords") or {}
        for place, ref in frame.get("refs") or ():
            self.copies.note(keywords[place] if isinstance(place, str) else args[place], ref)
        for name in frame.get("callbacks") or ():
            keywords[name] = self._callback(name)
        if frame.get("services") and handler.takes(len(args) + 1):
            args = [*args, Services(self)]
        return args, keywords

    def _callback(self, name):
        return lambda *values, **named: self.request(name, [*values, *named.values()])

    def _finish(self, value):
        self._over = True
        self._release()
        if self._frame.get("discard"):
            self._wire.send({"t": "done", "id": self.id})
            return
        try:
            ref = self.copies.unchanged(value)
            self._wire.send({"t": "done", "id": self.id, **({"value": value} if ref is None else {"ref": ref})})
        except Exception as error:  # dictionaries of its own making may raise anything
            self._send_failure("unserialisable", f"its result cannot be sent: {message_of(error)}", "")

    def _fail(self, error):
        self._over = True
        self._release()
        self._send_failure("threw", message_of(error), stack_of(error), self.copies.raised(error), parts_of(error))

    def _send_failure(self, kind, message, stack, ref=None, parts=None):
        frame = {"t": "failed", "id": self.id, "kind": kind, "message": message, "stack": stack}
        if parts is not None:
            frame["error"] = parts
        self._wire.send(frame if ref is None else {**frame, "ref": ref})

    def _release(self):
        self._ended(self)
        if self._worker is not None:
            self.module.place.give_back(self._worker)

