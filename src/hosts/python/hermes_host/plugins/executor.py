"""
Threads for the callbacks of a plugin. Synchronous callbacks run on a thread each, so that one that waits for `next_call` does
not delay others. Coroutines share one loop, so that objects of that loop can be shared.
"""
import threading

from ..executor import ModuleExecutor, Worker

# Many threads may wait at the same time, and each stack counts towards the memory limit of the process.
STACK_BYTES = 2 * 1024 * 1024


class PluginExecutor(ModuleExecutor):
    def __init__(self, name):
        self._async_worker = None
        self._async_worker_lock = threading.Lock()
        super().__init__(name)

    def new_worker(self, name):
        before = threading.stack_size(STACK_BYTES)
        try:
            return Worker(name)
        finally:
            threading.stack_size(before)

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
