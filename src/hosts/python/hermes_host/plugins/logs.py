"""Forwards records of the standard logging module to the log of the gateway."""
import logging
import os
import sys

LEVELS = ((logging.ERROR, "error"), (logging.WARNING, "warn"), (logging.INFO, "info"))


class GatewayLogHandler(logging.Handler):
    def __init__(self, channel, module):
        super().__init__()
        self._channel, self._module = channel, module
        self._pid = os.getpid()

    def emit(self, record):
        try:
            text = self.format(record)
            if os.getpid() != self._pid:  # a forked process has no connection to the gateway
                sys.stderr.write(f"{text}\n")
                return
            level = next((name for least, name in LEVELS if record.levelno >= least), "debug")
            self._channel.log(self._module, level, text, {"logger": record.name})
        except Exception:
            self.handleError(record)


def forward_logging(channel, module):
    """Forwards level info and above. A plugin can set lower levels on its own loggers."""
    root = logging.getLogger()
    root.addHandler(GatewayLogHandler(channel, module))
    root.setLevel(logging.INFO)
