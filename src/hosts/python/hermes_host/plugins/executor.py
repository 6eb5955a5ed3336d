"""
Where the callbacks of a plugin run: plain ones on a thread each, so that one that waits for `next_call` keeps nobody
from being called; coroutines together on one loop, so that what they share belongs to one loop.
"""
import threading

from ..executor import Place, Worker

# Many may wait at once, and each stack counts towards the limit of the process.
STACK_BYTES = 2 * 1024 * 1024


class PluginPlace(Place):
    def __init__(self, name):
        self._looping = None
        self._looping_lock = threading.Lock()
        super().__init__(name)

    def new_worker(self, name):
        before = threading.stack_size(STACK_BYTES)
        try:
            return Worker(name)
        finally:
            threading.stack_size(before)

    def take(self, is_async):
        return self._loop_worker() if is_async else super().take(False)

    def runner_for(self, worker):
        looping = self._loop_worker()
        if worker is not looping:
            self.give_back(worker)
        return looping

    def give_back(self, worker):
        if worker is not self._looping:
            super().give_back(worker)

    def finish(self, awaitable):
        """Runs something on the loop and waits for it, elsewhere than on the loop. Raises what it raises."""
        import asyncio

        async def whole():
            return await awaitable

        loop = self._loop_worker().loop
        return asyncio.run_coroutine_threadsafe(whole(), loop).result()

    def _loop_worker(self):
        with self._looping_lock:
            if self._looping is None:
                worker = self.new_worker(f"{self._name} (asyncio)")
                ready = threading.Event()

                def begin(worker):
                    worker.ensure_loop()
                    ready.set()

                worker.post(begin, False)
                ready.wait()
                self._looping = worker
            return self._looping
