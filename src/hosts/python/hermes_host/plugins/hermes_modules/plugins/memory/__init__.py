"""Memory providers import their own modules as `plugins.memory.<name>`."""
