"""The copies of one call, and which objects of the gateway they stand for."""
from .requests import GatewayError
from .channel import encode


class Copies:
    def __init__(self):
        self._known = {}  # by id(); holds the object, so that its id stays its own

    def note(self, copy, ref):
        """Remembers a copy as it is now."""
        if ref is not None:
            self._known[id(copy)] = (copy, ref, encode(copy))
        return copy

    def unchanged(self, value):
        """The reference of a copy that nobody has changed, or None."""
        found = self._known.get(id(value))
        if found is None or found[2] is None:
            return None
        try:
            return found[1] if encode(value) == found[2] else None
        except (TypeError, ValueError, RecursionError):
            return None

    def error(self, error):
        """An error of the gateway, to be raised."""
        raised = GatewayError(error["name"], error["message"], error.get("code"))
        if error.get("ref") is not None:
            self._known[id(raised)] = (raised, error["ref"], None)
        return raised

    def raised(self, error):
        """The reference of an error that came from the gateway, or None."""
        found = self._known.get(id(error))
        return found[1] if found is not None and found[2] is None else None
