"""The base class of memory providers, which can be defined but not registered."""


class MemoryProvider:
    pass
