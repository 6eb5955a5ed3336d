"""A function of a plugin, and how it wants to be called."""
import functools
import inspect

from ..loader import Handler


class Callback(Handler):
    """Gets keyword arguments; one that does not take all of them gets just the ones it names."""

    def __init__(self, function):
        super().__init__(function)
        self.is_async = _is_async(function)
        positional, keywords, takes_all = _read_signature(function)
        self._positional, self._keywords, self._takes_all = positional, keywords, takes_all
        # The names it wants to be sent; None for all.
        self.argument_names = None if takes_all else [*positional, *keywords]
        self._function = function
        self.function = self._call

    def _call(self, *args, **keywords):
        if self._takes_all and not args:
            return self._function(**keywords)
        if self._takes_all:
            taken = set(self._positional[: len(args)])
            return self._function(*args, **{name: value for name, value in keywords.items() if name not in taken})
        names = {*self._positional[len(args):], *self._keywords}
        return self._function(*args, **{name: value for name, value in keywords.items() if name in names})


def _is_async(function):
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def _read_signature(function):
    """The names it takes by their place (and by name), those by name alone, and whether it takes all others, too."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [], [], True
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return (
        [one.name for one in parameters if one.kind in by_place],
        [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY],
        any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters),
    )
