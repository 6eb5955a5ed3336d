"""The host's side of the pipe to the gateway: lines of JSON, read from file descriptor 3 and written to 4."""
import json
import os
import threading
import time

FD_IN, FD_OUT = 3, 4
MAX_LOG_LINES_PER_SECOND = 100
# Limit of one field of a log line.
MAX_FIELD_CHARS = 8_000


class FrameTooLong(ValueError):
    """A frame that the gateway would reject."""


def encode(value):
    """The JSON text of a value. Raises TypeError or ValueError if the value cannot be serialised."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class Channel:
    """Sends frames; may be used from any thread."""

    def __init__(self, max_bytes):
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._current_second = 0
        # The log lines of each module in this second.
        self._logged = {}
        # A process that a handler forks must not send frames in the name of the host.
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=self._close_in_child)

    def _close_in_child(self):
        os.close(FD_IN)
        os.close(FD_OUT)

    def send(self, frame):
        """Blocks until the frame is written. Raises FrameTooLong and the errors of `encode`."""
        line = encode(frame).encode("ascii") + b"\n"
        if len(line) > self._max_bytes:
            raise FrameTooLong(f"it is longer than {self._max_bytes} bytes")
        if os.getpid() != self._pid:
            os._exit(0)
        with self._lock:
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(FD_OUT, rest):]
            except OSError:
                # The gateway no longer reads the pipe, so the error cannot be reported.
                os._exit(0)

    def log(self, module, level, message, fields=None):
        """Sends a log line. Lines of a module above the rate limit are dropped here, where they cost the gateway nothing."""
        with self._lock:
            now = int(time.monotonic())
            if now != self._current_second:
                self._current_second, self._logged = now, {}
            count = self._logged[module] = self._logged.get(module, 0) + 1
        if count > MAX_LOG_LINES_PER_SECOND + 1:
            return
        if count > MAX_LOG_LINES_PER_SECOND:
            level, fields = "warn", None
            message = f"more than {MAX_LOG_LINES_PER_SECOND} log lines in one second: the rest was dropped"
        frame = {"t": "log", "module": module, "level": level, "message": str(message)[:10_000]}
        if fields:
            frame["fields"] = {str(name): _json_field(value) for name, value in fields.items()}
        self.send(frame)


def _json_field(value):
    """A field of a log line, truncated if it is too long. Never raises."""
    try:
        text = encode(value)
        return value if len(text) <= MAX_FIELD_CHARS else text[:MAX_FIELD_CHARS]
    except Exception:  # custom classes may raise any exception
        try:
            return str(value)[:MAX_FIELD_CHARS]
        except Exception:
            return "(cannot be read)"
