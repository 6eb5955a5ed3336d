"""Small helpers that plugins of Hermes import."""
import json
import os
import tempfile
from pathlib import Path


def is_truthy_value(value, default=False):
    if value is None:
        return default
    if isinstance(value, str):
        return value.strip().lower() in ("1", "true", "yes", "on")
    return bool(value)


def read_json_or_empty(path):
    """The object in the file; empty without a file, and for anything that is not an object."""
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def atomic_json_write(path, data, *, indent=2, mode=None, **options):
    """Replaces the file at once: a reader sees the old or the new text."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=indent, ensure_ascii=False, **options)
            file.write("\n")
        os.chmod(temporary, 0o600 if mode is None else mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def atomic_replace(source, target):
    os.replace(source, target)
    return str(target)
