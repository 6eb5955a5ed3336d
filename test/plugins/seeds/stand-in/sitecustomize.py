"""Writes down what plugins hold in their own variables when their process ends, in the file that STATE_RECORD names."""
import atexit
import json
import os
import sys

NAMES = ("_tool_counts", "_error_counts", "_session_caches", "_start_times")


def record():
    for name, module in list(sys.modules.items()):
        held = {one: getattr(module, one) for one in NAMES if hasattr(module, one)}
        if name.startswith("hermes_plugin_") and held:
            with open(os.environ["STATE_RECORD"], "a") as file:
                file.write(json.dumps({"module": name, **held}) + "\n")


if "STATE_RECORD" in os.environ:
    atexit.register(record)
