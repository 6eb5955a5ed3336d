"""Loads handler modules: finds their functions, locates errors and lists their files."""
import os
import sys
import threading
import types
from importlib.machinery import ModuleSpec, SourceFileLoader

from .executor import ModuleExecutor

HOST_DIRECTORY = os.path.dirname(os.path.abspath(__file__))


class Handler:
    """A function of a module, and how it must be called."""

    def __init__(self, function):
        self.function = function
        plain = type(function) is types.FunctionType
        self.is_async = plain and bool(function.__code__.co_flags & 0x80)
        self._takes = None

    def takes(self, count):
        """Whether the function accepts that many positional arguments."""
        if self._takes is None:
            self._takes = _count_positional(self.function)
        return self._takes >= count


def _count_positional(function):
    if type(function) is types.FunctionType and not hasattr(function, "__wrapped__"):
        return function.__code__.co_argcount
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in named for parameter in parameters)


class Module:
    """A file with handlers. Its code runs on the threads of its executor."""

    # Modules are loaded one after another, because they share the search path.
    _loading = threading.Lock()

    def __init__(self, name, path, entry, import_as, executor=None):
        self.name, self.path, self.entry, self.import_as = name, path, entry, import_as
        self.folder = os.path.dirname(path)
        self.executor = executor or ModuleExecutor(name)
        self._module = None
        self._handlers = {}

    def handler(self, name):
        """An exported function, or None."""
        found = self._handlers.get(name)
        if found is None and callable(getattr(self._module, name, None)):
            found = self._handlers[name] = Handler(getattr(self._module, name))
        return found

    def load(self):
        """Executes the file. Raises its errors, and AttributeError if the entry is missing."""
        with Module._loading:
            self._load()

    def _load(self):
        with open(self.path, "rb") as file:
            source = file.read()
        self._evict_conflicting_modules()
        module = self._new_module()
        sys.modules[self.import_as] = module
        sys.path.insert(0, self.folder)
        try:
            exec(compile(source, self.path, "exec", dont_inherit=True), module.__dict__)
            self.complete(module)
            if not callable(getattr(module, self.entry, None)):
                raise AttributeError(f"expected a function `{self.entry}` in it")
        except BaseException:
            sys.modules.pop(self.import_as, None)
            raise
        finally:
            # Moved to the end, so that a helper with the name of a standard module does not replace it elsewhere.
            if self.folder in sys.path:
                sys.path.remove(self.folder)
            sys.path.append(self.folder)
        self._module = module

    def complete(self, module):
        """Called after the file was executed, before its entry is looked up."""

    def _new_module(self):
        loader = SourceFileLoader(self.import_as, self.path)
        spec = ModuleSpec(self.import_as, loader, origin=self.path)
        spec.has_location = True
        module = types.ModuleType(self.import_as)
        if os.path.basename(self.path) == "__init__.py":
            spec.submodule_search_locations = module.__path__ = [self.folder]
        module.__spec__, module.__loader__, module.__file__ = spec, loader, self.path
        module.__package__ = spec.parent
        return module

    def _evict_conflicting_modules(self):
        """Lets two handlers have a `helpers.py` each: the name is free again for the handler that is loaded next."""
        for entry in os.scandir(self.folder):
            name, dot, suffix = entry.name.partition(".")
            found = sys.modules.get(name)
            file = getattr(found, "__file__", None)
            if (not dot or suffix == "py") and file in _handler_files() and not _is_within(file, self.folder):
                for known in [known for known in sys.modules if known == name or known.startswith(name + ".")]:
                    del sys.modules[known]

    def prepare(self, worker):
        """Creates the loop of an async entry before the first call, so that all of its coroutines share one loop."""
        if self.handler(self.entry).is_async:
            worker.ensure_loop()

    def files(self):
        """The file of the module and the files it imported from its own folder."""
        return [self.path, *(file for file in _handler_files() if file != self.path and _is_within(file, self.folder))]


def _handler_files():
    """Files of loaded modules that belong to handlers rather than to Python, to packages or to the host."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    foreign = (sys.prefix, sys.base_prefix, HOST_DIRECTORY)
    return [
        file
        for file in files
        if file and "site-packages" not in file and not any(_is_within(file, root) for root in foreign)
    ]


def _is_within(file, folder):
    return file.startswith(folder + os.sep)
