"""Threads that run handlers.

Each module has a home thread: it is loaded there and, while it does one thing at a time, called there, so that what it
made when it was loaded (a database connection, a client, a lock) is used by the thread that made it. A call that comes
while the home thread is busy gets a thread to itself, so that a handler that blocks never makes another one wait.

Coroutines run on an event loop of their thread. It goes on between calls, as their background tasks expect.
"""
import sys
import threading

try:
    from _queue import SimpleQueue  # `queue` would read in a good deal that is not needed here
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
        """Runs a job on this thread. One that is plain runs beside the loop: it may use a loop of its own."""
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
        """The event loop of this thread, made at its first use (it costs 50 ms and 10 MB). Call it on this thread."""
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


class ModuleExecutor:
    """Where the calls of one module run."""

    _idle_workers = []
    _lock = threading.Lock()

    def __init__(self, name):
        self._name = name
        self.home_worker = self.new_worker(name)
        self._in_flight = 0
        self._blocked = False

    def acquire(self, is_async):
        """The worker for one more call. `is_async`: it is known to give way while it waits."""
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

    def worker_for_awaitable(self, worker):
        """What looked like a plain function turned out to be a coroutine: the worker on which it runs on."""
        if worker is self.home_worker:
            self._blocked = False
        return worker

    def release(self, worker):
        """The call that `acquire` was for is over."""
        with ModuleExecutor._lock:
            if worker is self.home_worker:
                self._in_flight -= 1
                self._blocked = False
            else:
                ModuleExecutor._idle_workers.append(worker)
