"""Threads that run handlers.

Each module has a home thread, which loads it and runs its calls as long as they do not overlap. Objects that were created
while loading (a database connection, a client, a lock) are therefore used by the thread that created them. A call that
arrives while the home thread is busy runs on another thread, so that a blocking handler does not delay other calls.

Coroutines run on the event loop of their thread. The loop keeps running between calls for background tasks.
"""
import sys
import threading

try:
    from _queue import SimpleQueue  # `queue` imports many modules that are not needed here
except ImportError:
    from queue import SimpleQueue


class Worker:
    """A thread with a queue of jobs; a job is a function of the worker."""

    def __init__(self, name):
        self.loop = None
        self._jobs = SimpleQueue()
        self._jobs_outside_loop = []
        self._lock = threading.Lock()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def submit(self, job, is_async):
        """Runs a job on this thread. Synchronous jobs run outside of the loop, because they may run a loop of their own."""
        with self._lock:
            if self.loop is None:
                self._jobs.put(job)
            else:
                self.loop.call_soon_threadsafe(job if is_async else self._run_outside_loop(job), self)

    def _run_outside_loop(self, job):
        def stop(worker):
            worker._jobs_outside_loop.append(job)
            worker.loop.stop()

        return stop

    def ensure_loop(self):
        """The event loop of this thread, created on demand (50 ms, 10 MB). Must be called on this thread."""
        if self.loop is None:
            import asyncio

            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            with self._lock:
                self.loop = loop
                while not self._jobs.empty():
                    self._jobs_outside_loop.append(self._jobs.get())
        return self.loop

    def _run(self):
        while True:
            try:
                if self._jobs_outside_loop:
                    self._jobs_outside_loop.pop(0)(self)
                elif self.loop is None:
                    self._jobs.get()(self)
                else:
                    self.loop.run_forever()
            except BaseException:  # a background task that calls sys.exit() ends the loop, not the host
                sys.excepthook(*sys.exc_info())


class Turn:
    """The place of a call among the calls of its module. Calls of hooks have no order."""

    def begin(self):
        """Called on the thread of the call, before its function."""

    def end(self):
        """Called when the function has returned or raised."""


class ModuleExecutor:
    """Selects the threads for the calls of one module."""

    _idle_workers = []
    _lock = threading.Lock()

    def __init__(self, name):
        self._name = name
        self.home_worker = self.new_worker(name)
        self._in_flight = 0
        self._blocked = False

    def acquire(self, is_async):
        """The worker for a call. `is_async`: the handler is known to be a coroutine function."""
        with ModuleExecutor._lock:
            if self._in_flight == 0 or (is_async and self.home_worker.loop is not None and not self._blocked):
                self._in_flight += 1
                self._blocked = not is_async
                return self.home_worker
            if ModuleExecutor._idle_workers:
                return ModuleExecutor._idle_workers.pop()
        return self.new_worker(self._name)

    def new_worker(self, name):
        return Worker(name)

    def next_turn(self, is_notification):
        """The turn of a new call. Runs on the reader thread."""
        return Turn()

    def worker_for_awaitable(self, worker):
        """The worker for the awaitable that a synchronous function has returned."""
        if worker is self.home_worker:
            self._blocked = False
        return worker

    def release(self, worker):
        """Returns the worker of a call that has ended."""
        with ModuleExecutor._lock:
            if worker is self.home_worker:
                self._in_flight -= 1
                self._blocked = False
            else:
                ModuleExecutor._idle_workers.append(worker)
