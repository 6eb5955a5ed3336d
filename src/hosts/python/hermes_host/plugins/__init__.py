"""Python plugins: the context of `register(ctx)`, and the calls of its callbacks."""
