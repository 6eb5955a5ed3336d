"""The host for handlers in Python. A package, so that its modules cannot conflict with those of handlers."""
