"""Records of the standard logging module, as lines of the gateway's log."""
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
            if os.getpid() != self._pid:  # a process that the plugin has forked has no gateway
                sys.stderr.write(f"{text}\n")
                return
            level = next((name for least, name in LEVELS if record.levelno >= least), "debug")
            self._channel.log(self._module, level, text, {"logger": record.name})
        except Exception:
            self.handleError(record)


def forward_logging(channel, module):
    """From info on, as the gateway's own log; a plugin may ask its loggers for more."""
    root = logging.getLogger()
    root.addHandler(GatewayLogHandler(channel, module))
    root.setLevel(logging.INFO)
