"""Sends what handlers print as log lines of their module, so that one that prints without end does not silence the others.

What no module has printed, and what is written to the file descriptors directly, goes to the pipes of the process.
"""
import atexit
import io
import os
import sys
import threading

from .call import CURRENT_CALL, CURRENT_MODULE

MAX_LINE_CHARS = 10_000


class Prints(io.TextIOBase):
    """Replaces `sys.stdout` or `sys.stderr`."""

    def __init__(self, original, name, level, channel):
        super().__init__()
        self._original, self._fields, self._level, self._channel = original, {"stream": name}, level, channel
        self._lock = threading.Lock()
        # The beginning of a line, by module.
        self._partial_lines = {}
        # A forked process has no connection to the gateway.
        self._pid = os.getpid()

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        call = CURRENT_CALL.get()
        module = CURRENT_MODULE.get() if call is None else call.module.name
        if module is None or os.getpid() != self._pid:
            return self._original.write(text)
        with self._lock:
            lines = (self._partial_lines.get(module, "") + text).split("\n")
            self._partial_lines[module] = lines.pop()[:MAX_LINE_CHARS]
        for line in lines:
            self._send(module, line)
        return len(text)

    def send_partial_lines(self):
        """Sends the lines without an end, when the process ends."""
        for module, line in self._partial_lines.items():
            self._send(module, line)
        self._partial_lines = {}

    def _send(self, module, line):
        if line.strip():
            self._channel.log(module, self._level, line, self._fields)

    def flush(self):
        self._original.flush()

    def writable(self):
        return True

    def fileno(self):
        return self._original.fileno()

    def isatty(self):
        return False

    @property
    def encoding(self):
        return self._original.encoding

    @property
    def errors(self):
        return self._original.errors

    def __getattr__(self, name):  # such as `buffer`
        return getattr(self._original, name)


def capture_prints(channel):
    sys.stdout = Prints(sys.stdout, "stdout", "info", channel)
    sys.stderr = Prints(sys.stderr, "stderr", "warn", channel)
    for prints in (sys.stdout, sys.stderr):
        atexit.register(prints.send_partial_lines)
