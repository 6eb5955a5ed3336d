"""The process in which handlers in Python run; the protocol is that of ``../protocol.ts``.

Standard library only, Python 3.9 or newer. This file is also read by older ones, which it tells what is missing.
"""
import os
import sys

if sys.version_info < (3, 9):
    VERSION = ".".join(str(part) for part in sys.version_info[:3])
    REASON = "it is Python " + VERSION + ", handlers need 3.9 or newer"
    os.write(4, ('{"t":"startupError","reason":"' + REASON + '"}\n').encode())
    sys.exit(1)

# Not for a process that `multiprocessing` starts: it reads this file, too.
if __name__ == "__main__":
    FOLDER = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [FOLDER, *(path for path in sys.path if path != FOLDER)]
    from hermes_host.host import run

    sys.path.remove(FOLDER)
    run()
