"""The host's side of the pipe to the gateway: lines of JSON, file descriptor 3 in, 4 out."""
import json
import os
import threading
import time

FD_IN, FD_OUT = 3, 4
MAX_LOG_LINES_PER_SECOND = 100
# Of one field of a line of the log.
MAX_FIELD_CHARS = 8_000


class FrameTooLong(ValueError):
    """A frame that the gateway would refuse."""


def encode(value):
    """Text of a value as the gateway reads it. Raises TypeError or ValueError for what is no JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class Channel:
    """Sends frames; may be used from any thread."""

    def __init__(self, max_bytes):
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._current_second = 0
        self._logged = 0
        self._dropped = 0
        # A process that a handler forks is not the host: it must not speak in its name, nor go on in its place.
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=self._close_in_child)

    def _close_in_child(self):
        os.close(FD_IN)
        os.close(FD_OUT)

    def send(self, frame):
        """Blocks until the gateway has taken it. Raises what `encode` raises, and FrameTooLong."""
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
                # Nobody reads any more, so nobody can be told: the end of the process says it.
                os._exit(0)

    def log(self, module, level, message, fields=None):
        """A line for the log of the gateway. Too many in a second are dropped here, where it costs the gateway nothing."""
        with self._lock:
            now = int(time.monotonic())
            if now != self._current_second:
                self._current_second, self._logged = now, 0
            self._logged += 1
            if self._logged > MAX_LOG_LINES_PER_SECOND:
                self._dropped += 1
                return
            dropped, self._dropped = self._dropped, 0
        if dropped:
            self.send({"t": "log", "module": module, "level": "warn", "message": f"{dropped} lines of the log were dropped: too many"})
        frame = {"t": "log", "module": module, "level": level, "message": str(message)[:10_000]}
        if fields:
            frame["fields"] = {str(name): _json_field(value) for name, value in fields.items()}
        self.send(frame)


def _json_field(value):
    """A field of a line of the log; what is too long is cut. Never raises."""
    try:
        text = encode(value)
        return value if len(text) <= MAX_FIELD_CHARS else text[:MAX_FIELD_CHARS]
    except Exception:  # whatever the value is made of
        try:
            return str(value)[:MAX_FIELD_CHARS]
        except Exception:
            return "(cannot be read)"
