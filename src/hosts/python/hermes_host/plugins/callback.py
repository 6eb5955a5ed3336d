"""A function of a plugin, called with the arguments that its signature accepts."""
import functools
import inspect

from ..loader import Handler


class Callback(Handler):
    """Receives keyword arguments. Arguments that the function does not accept are omitted."""

    def __init__(self, function, prepare=None):
        """`prepare(keywords)` returns the keyword arguments of a call."""
        super().__init__(function)
        self._prepare = prepare
        self.is_async = _is_async(function)
        positional, keywords, takes_all = _read_signature(function)
        self._positional, self._keywords, self._takes_all = positional, keywords, takes_all
        # The arguments that the gateway must send; None for all.
        self.argument_names = None if takes_all else [*positional, *keywords]
        self._function = function
        self.function = self._call

    def _call(self, *args, **keywords):
        if self._prepare is not None:
            keywords = self._prepare(keywords)
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
    """Names of positional parameters, names of keyword-only parameters, and whether there is a ``**`` parameter."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [], [], True
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return (
        [one.name for one in parameters if one.kind in positional],
        [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY],
        any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters),
    )
