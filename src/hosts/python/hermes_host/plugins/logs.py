"""Records of the standard logging module, as lines of the gateway's log."""
import logging
import os
import sys

LEVELS = ((logging.ERROR, "error"), (logging.WARNING, "warn"), (logging.INFO, "info"))


class GatewayHandler(logging.Handler):
    def __init__(self, wire, module):
        super().__init__()
        self._wire, self._module = wire, module
        self._process = os.getpid()

    def emit(self, record):
        try:
            text = self.format(record)
            if os.getpid() != self._process:  # a process that the plugin has forked has no gateway
                sys.stderr.write(f"{text}\n")
                return
            level = next((name for least, name in LEVELS if record.levelno >= least), "debug")
            self._wire.log(self._module, level, text, {"logger": record.name})
        except Exception:
            self.handleError(record)


def follow_logging(wire, module):
    """From info on, as the gateway's own log; a plugin may ask its loggers for more."""
    root = logging.getLogger()
    root.addHandler(GatewayHandler(wire, module))
    root.setLevel(logging.INFO)
