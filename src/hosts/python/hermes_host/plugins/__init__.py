"""Plugins in Python: what `register(ctx)` is given, and how its callbacks are called."""
