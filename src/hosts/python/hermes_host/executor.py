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
        self._aside = []
        self._lock = threading.Lock()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def post(self, job, is_async):
        """Runs a job on this thread. One that is plain runs beside the loop: it may use a loop of its own."""
        with self._lock:
            if self.loop is None:
                self._jobs.put(job)
            else:
                self.loop.call_soon_threadsafe(job if is_async else self._step_aside(job), self)

    def _step_aside(self, job):
        def stop(worker):
            worker._aside.append(job)
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
                    self._aside.append(self._jobs.get())
        return self.loop

    def _run(self):
        while True:
            try:
                if self._aside:
                    self._aside.pop(0)(self)
                elif self.loop is None:
                    self._jobs.get()(self)
                else:
                    self.loop.run_forever()
            except BaseException:  # a background task that calls sys.exit() ends the loop, not the host
                sys.excepthook(*sys.exc_info())


class Place:
    """Where the calls of one module run."""

    _spare = []
    _lock = threading.Lock()

    def __init__(self, name):
        self._name = name
        self.home = self.new_worker(name)
        self._in_flight = 0
        self._blocked = False

    def take(self, is_async):
        """The worker for one more call. `is_async`: it is known to give way while it waits."""
        with Place._lock:
            if self._in_flight == 0 or (is_async and self.home.loop is not None and not self._blocked):
                self._in_flight += 1
                self._blocked = not is_async
                return self.home
            if Place._spare:
                return Place._spare.pop()
        return self.new_worker(self._name)

    def new_worker(self, name):
        return Worker(name)

    def runner_for(self, worker):
        """What looked like a plain function turned out to be a coroutine: the worker on which it runs on."""
        if worker is self.home:
            self._blocked = False
        return worker

    def give_back(self, worker):
        """The call that `take` was for is over."""
        with Place._lock:
            if worker is self.home:
                self._in_flight -= 1
                self._blocked = False
            else:
                Place._spare.append(worker)
