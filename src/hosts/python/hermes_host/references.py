"""The references of one call to objects of the gateway."""
from .channel import encode


class ReferenceTable:
    def __init__(self):
        self._tracked = {}  # by id(); holds the object, so that its id is not reused

    def track(self, copy, ref):
        """Stores the current content of a copy."""
        if ref is not None:
            self._tracked[id(copy)] = (copy, ref, encode(copy))
        return copy

    def reference_of(self, value):
        """The reference of an unchanged copy, or None."""
        found = self._tracked.get(id(value))
        if found is None or found[2] is None:
            return None
        try:
            return found[1] if encode(value) == found[2] else None
        except (TypeError, ValueError, RecursionError):
            return None

    def track_error(self, raised, error):
        """Stores that an exception stands for an error of the gateway."""
        if error.get("ref") is not None:
            self._tracked[id(raised)] = (raised, error["ref"], None)
        return raised

    def error_reference(self, error):
        """The reference of an error that came from the gateway, or None."""
        found = self._tracked.get(id(error))
        return found[1] if found is not None and found[2] is None else None
