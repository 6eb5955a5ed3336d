"""The host for handlers in Python. A package, so that no name of ours can be taken for a handler's own module."""
