"""
Threads for the callbacks of a plugin. Synchronous callbacks run on a thread each, so that one that waits for `next_call` does
not delay others. Coroutines share one loop, so that objects of that loop can be shared.
"""
import threading

from ..executor import ModuleExecutor, Turn, Worker

# Many threads may wait at the same time, and each stack counts towards the memory limit of the process.
STACK_BYTES = 2 * 1024 * 1024


# How long a call waits for the end of the notification before it. A slow notification does not delay others longer.
MAX_WAIT_SECONDS = 0.2


class OrderedTurn(Turn):
    """A call whose result is used begins after the notification that the gateway sent before it."""

    def __init__(self, notification):
        self._notification = notification
        self._ended = threading.Event()

    def begin(self):
        notification, self._notification = self._notification, None
        if notification is not None:
            notification._ended.wait(MAX_WAIT_SECONDS)

    def end(self):
        self._ended.set()


class PluginExecutor(ModuleExecutor):
    def __init__(self, name):
        self._last_notification = None
        self._async_worker = None
        self._async_worker_lock = threading.Lock()
        super().__init__(name)

    def new_worker(self, name):
        before = threading.stack_size(STACK_BYTES)
        try:
            return Worker(name)
        finally:
            threading.stack_size(before)

    def next_turn(self, is_notification):
        if not is_notification:
            return OrderedTurn(self._last_notification)
        self._last_notification = OrderedTurn(None)
        return self._last_notification

    def acquire(self, is_async):
        return self._get_async_worker() if is_async else super().acquire(False)

    def worker_for_awaitable(self, worker):
        looping = self._get_async_worker()
        if worker is not looping:
            self.release(worker)
        return looping

    def release(self, worker):
        if worker is not self._async_worker:
            super().release(worker)

    def run_on_loop(self, awaitable):
        """Runs an awaitable on the loop and waits for it. Must not be called on the loop. Raises the error of the awaitable."""
        import asyncio

        async def run():
            return await awaitable

        loop = self._get_async_worker().loop
        return asyncio.run_coroutine_threadsafe(run(), loop).result()

    def _get_async_worker(self):
        with self._async_worker_lock:
            if self._async_worker is None:
                worker = self.new_worker(f"{self._name} (asyncio)")
                ready = threading.Event()

                def begin(worker):
                    worker.ensure_loop()
                    ready.set()

                worker.submit(begin, False)
                ready.wait()
                self._async_worker = worker
            return self._async_worker
