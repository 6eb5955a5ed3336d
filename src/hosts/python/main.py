"""The host process for handlers in Python. Implements the protocol of ``../protocol.ts``.

Uses only the standard library of Python 3.9 or newer. Older versions can parse this file and report the required version.
"""
import os
import sys

if sys.version_info < (3, 9):
    VERSION = ".".join(str(part) for part in sys.version_info[:3])
    REASON = "it is Python " + VERSION + ", handlers need 3.9 or newer"
    os.write(4, ('{"t":"startupError","reason":"' + REASON + '"}\n').encode())
    sys.exit(1)

# Skipped in processes of `multiprocessing`, which import this file.
if __name__ == "__main__":
    FOLDER = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [FOLDER, *(path for path in sys.path if path != FOLDER)]
    from hermes_host.host import run

    sys.path.remove(FOLDER)
    run()
