"""
A memory provider: one object per person and conversation, because providers of Hermes keep the session and the user in the
object. As in Hermes, ``register`` is called again for each object. The first object answers what concerns no conversation.
"""
import inspect
import logging
import threading
from collections import OrderedDict

from .context import InertRegistration, PluginContext

METHODS = (
    "is_available unavailable_reason initialize shutdown system_prompt_block prefetch queue_prefetch on_turn_start sync_turn "
    "on_session_end on_session_switch on_pre_compress on_memory_write on_delegation get_tool_schemas handle_tool_call "
    "get_config_schema save_config"
).split()

# More objects than people write at the same time. The object that was not used for the longest time is shut down.
MAX_INSTANCES = 64


class Collector(PluginContext):
    """The context of a repeated ``register``: keeps the providers and ignores everything else."""

    def __init__(self, module, about):
        super().__init__(module, about)
        self.providers = []

    def register_memory_provider(self, provider):
        self.providers.append(provider)
        return InertRegistration("")

    def _register(self, kind, name, details, callbacks):
        return InertRegistration(name if isinstance(name, str) else "")

    def _ignore(self, method, args, keywords):
        return InertRegistration("")


class Instance:
    """The object of one person in one conversation."""

    def __init__(self):
        self.lock = threading.Lock()
        self.provider = None


class ProviderInstances:
    def __init__(self, module, about, prototype):
        self._module, self._about, self._prototype = module, about, prototype
        self._instances = OrderedDict()
        self._lock = threading.Lock()

    def methods(self):
        """What the provider implements itself; `sync_turn.messages` if it takes the messages; `separates_chats`."""
        from agent.memory_provider import MemoryProvider

        found = [name for name in METHODS if _implements(self._prototype, name, MemoryProvider)]
        if "sync_turn" in found and _accepts(self._prototype.sync_turn, "messages"):
            found.append("sync_turn.messages")
        if getattr(self._prototype, "separates_chats", False) is True:
            found.append("separates_chats")
        return found

    def call(self, method, about, args, keywords):
        """Calls a method of the object that `about` names; of the first object without it. Runs on a thread."""
        if method == "shutdown":
            return self._shut_down()
        if about is None:
            return self._run(getattr(self._prototype, method), args, keywords)
        provider = self._provider(about, method == "initialize")
        if method == "initialize":
            return None
        if method == "on_memory_write" and not _accepts(provider.on_memory_write, "metadata"):
            # An older provider takes the metadata as its fourth argument, or not at all.
            metadata = [keywords["metadata"]] if _count_positional(provider.on_memory_write) >= 4 else []
            return self._run(provider.on_memory_write, [*args, *metadata], {})
        return self._run(getattr(provider, method), args, keywords)

    def _provider(self, about, is_new):
        key = about["instance"]
        with self._lock:
            instance = self._instances.pop(key, None)
            former = instance if is_new else None
            if instance is None or is_new:
                instance = Instance()
            self._instances[key] = instance
            surplus = [] if len(self._instances) <= MAX_INSTANCES else [self._instances.popitem(last=False)[1]]
        for old in [former, *surplus]:
            if old is not None:
                self._close(old)
        with instance.lock:
            if instance.provider is None:
                provider = self._create()
                self._run(provider.initialize, [about["session_id"]], about["keywords"])
                instance.provider = provider
        return instance.provider

    def _create(self):
        collector = Collector(self._module, self._about)
        self._await(self._module.register_function(collector))
        named = [one for one in collector.providers if one.name == self._prototype.name]
        return named[-1] if named else type(self._prototype)()

    def _close(self, instance):
        with instance.lock:
            provider, instance.provider = instance.provider, None
        # `register` may return the same object each time.
        if provider is None or provider is self._prototype or any(one.provider is provider for one in self._all()):
            return
        try:
            self._run(provider.shutdown, [], {})
        except Exception as error:
            logging.getLogger(self._module.import_as).warning("a memory provider could not be shut down: %s", error)

    def _all(self):
        with self._lock:
            return list(self._instances.values())

    def _shut_down(self):
        with self._lock:
            instances = list(self._instances.values())
            self._instances.clear()
        for instance in instances:
            self._close(instance)
        self._run(self._prototype.shutdown, [], {})

    def _run(self, function, args, keywords):
        return self._await(function(*args, **_accepted(function, keywords)))

    def _await(self, value):
        return self._module.executor.run_on_loop(value) if inspect.isawaitable(value) else value


def _implements(provider, name, base):
    """A method that only the base class defines does nothing."""
    if not callable(getattr(provider, name, None)):
        return False
    return getattr(type(provider), name, None) is not getattr(base, name, None)


def _parameters(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def _accepts(function, keyword):
    parameters = _parameters(function)
    if parameters is None:
        return True
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return any(
        one.kind is inspect.Parameter.VAR_KEYWORD or (one.name == keyword and one.kind in named) for one in parameters
    )


def _accepted(function, keywords):
    return {name: value for name, value in keywords.items() if _accepts(function, name)}


def _count_positional(function):
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds for one in _parameters(function) or [])
