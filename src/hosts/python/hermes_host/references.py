"""The references of one call, and which objects of the gateway they stand for."""
from .requests import GatewayError
from .channel import encode


class ReferenceTable:
    def __init__(self):
        self._tracked = {}  # by id(); holds the object, so that its id stays its own

    def track(self, copy, ref):
        """Remembers a copy as it is now."""
        if ref is not None:
            self._tracked[id(copy)] = (copy, ref, encode(copy))
        return copy

    def reference_of(self, value):
        """The reference of a copy that nobody has changed, or None."""
        found = self._tracked.get(id(value))
        if found is None or found[2] is None:
            return None
        try:
            return found[1] if encode(value) == found[2] else None
        except (TypeError, ValueError, RecursionError):
            return None

    def create_error(self, error):
        """An error of the gateway, to be raised."""
        raised = GatewayError(error["name"], error["message"], error.get("code"))
        if error.get("ref") is not None:
            self._tracked[id(raised)] = (raised, error["ref"], None)
        return raised

    def error_reference(self, error):
        """The reference of an error that came from the gateway, or None."""
        found = self._tracked.get(id(error))
        return found[1] if found is not None and found[2] is None else None
