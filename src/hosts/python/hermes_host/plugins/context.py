"""
``ctx``, the argument of ``register(ctx)``. Names and arguments follow the contract. Errors of the gateway are raised.

Requests to the gateway block; `dispatch_tool`, `inject_message` and `llm.complete` are awaited in coroutines.
"""
import logging
from difflib import get_close_matches

from ..requests import GatewayError

# Registrations of Hermes that this gateway does not support, as far as their names resemble supported ones.
UNSUPPORTED = {
    "register_cli_command": "a plugin adds no commands to the program hermes. Offer it as ctx.register_command: people write it in any chat, and in a terminal it is hermes chat -q '/<name> <arguments>'",
    "register_slack_action_handler": "buttons belong to the adapter of the platform. Ask with the tool clarify, or offer ctx.register_command",
    "register_telegram_handler": "updates belong to the adapter of the platform. Use the hook pre_gateway_dispatch, which sees every message",
    "register_terminal_environment": "an environment is written in TypeScript (ctx.registerEnvironment), so terminal.backend cannot name this one",
}


class PeriodicTaskSpec:
    """A periodic task of a background daemon. `interval_seconds` is the time between the end of a run and the next start."""

    def __init__(self, name, interval_seconds, run, run_at_start=False):
        self.name, self.interval_seconds, self.run, self.run_at_start = name, interval_seconds, run, run_at_start


class Registration:
    """A registration, which `remove()` undoes."""

    def __init__(self, module, key, name):
        self._module, self._key = module, key
        self.name = name

    def remove(self):
        """Returns whether the registration existed."""
        return self._module.send_request("remove", [self._key], block=True)


class InertRegistration:
    """A registration that this gateway does not support. It has no effect."""

    def __init__(self, name):
        self.name = name

    def __call__(self, decorated=None, *_, **__):
        return decorated

    def remove(self):
        return False


class State:
    """Persistent JSON values of the plugin."""

    def __init__(self, module):
        self._module = module

    def get(self, key, default=None):
        found, value = self._module.send_request("state.get", [key], block=True)
        return value if found else default

    def set(self, key, value):
        self._module.send_request("state.set", [key, value], block=True)

    def delete(self, key):
        self._module.send_request("state.delete", [key], block=True)

    def keys(self):
        return self._module.send_request("state.keys", [], block=True)


class CompletionResult:
    """The response of a model: `text`, `model`, `usage`."""

    def __init__(self, response):
        self.text, self.model, self.usage = response["text"], response["model"], response["usage"]

    def __str__(self):
        return self.text


class Llm:
    """Completions with the configured model."""

    def __init__(self, module):
        self._module = module

    def complete(self, prompt, *, system=None, model=None, max_output_tokens=None):
        """One response without tools to a text or to messages in the OpenAI format. Must be awaited in a coroutine."""
        options = {"system": system, "model": model, "maxOutputTokens": max_output_tokens}
        present = {name: value for name, value in options.items() if value is not None}
        response = self._module.send_request("complete", [prompt, present])
        return _await_completion(response) if hasattr(type(response), "__await__") else CompletionResult(response)


async def _await_completion(response):
    return CompletionResult(await response)


class PluginContext:
    PeriodicTaskSpec = PeriodicTaskSpec

    def __init__(self, module, about):
        self._module, self._about = module, about
        self.plugin_id = about["id"]
        self.directory = about["directory"]
        self.version = about["version"]
        self.profile_name = about["profile"]
        self.log = self.logger = logging.getLogger(module.import_as)
        self.state = State(module)
        self.llm = Llm(module)

    def __getattr__(self, name):
        if not name.startswith("register_"):
            raise AttributeError(f"ctx.{name} does not exist here")
        if name not in UNSUPPORTED:
            own = [one for one in dir(PluginContext) if one.startswith("register_")]
            # A misspelled check must not disappear with a warning.
            if get_close_matches(name, own, 1, 0.8):
                raise AttributeError(f"ctx.{name} does not exist here; there are {', '.join(sorted(own))}")
        return lambda *args, **keywords: self._ignore(name, args, keywords)

    def _ignore(self, method, args, keywords):
        """A plugin whose other registrations work must not fail because of one that does not exist here."""
        given = keywords.get("name", args[0] if args else None)
        label = given if isinstance(given, str) else ""
        reason = UNSUPPORTED.get(method, "this gateway does not support it")
        self._module.send_request("warn", [f"ctx.{method}({label!r}) has no effect: {reason}"], block=True)
        return InertRegistration(label)

    # Information

    @property
    def config(self):
        """The current settings of the plugin."""
        return self._module.send_request("config", [], block=True)

    def get_config(self, key, default=None):
        value = self.config.get(key)
        return default if value is None else value

    def has_capability(self, capability):
        """Whether the gateway grants an optional capability of Hermes. There is none."""
        return False

    def has_plugin(self, plugin_id):
        return self._module.send_request("hasPlugin", [plugin_id], block=True)

    # Registrations

    def register_hook(self, name, callback):
        return self._register("hook", name, {}, {"call": callback})

    def register_middleware(self, kind, callback, *, answers=None):
        """`answers`: "unchanged" or "replaced", what a wrapper of model calls does with the text of the model."""
        called = getattr(callback, "__name__", None) or type(callback).__name__
        return self._register("middleware", kind, {"called": called, "answers": answers}, {"call": callback})

    def register_tool(
        self,
        name,
        toolset=None,
        schema=None,
        handler=None,
        check_fn=None,
        requires_env=None,
        is_async=False,
        description="",
        emoji="",
        override=False,
        **_,
    ):
        """`handler(args)` returns the result for the model. It receives `session_id`, `task_id` … if its signature names them."""
        if handler is None:
            raise TypeError(f"register_tool {name}: expected a handler")
        details = {
            "toolset": toolset,
            "schema": schema,
            "requires_env": [requires_env] if isinstance(requires_env, str) else list(requires_env or ()),
            "description": description,
            "override": bool(override),
        }
        try:
            return self._register("tool", name, details, {"call": handler, "check": check_fn})
        except GatewayError as error:
            if error.code == "plugins/tool-taken":
                raise PermissionError(str(error)) from None
            raise

    def register_command(self, name, handler, description="", args_hint="", argument_mode=None, **_):
        """`handler(raw_args)` returns the reply, or None."""
        return self._register("command", name, {"description": description, "args_hint": args_hint}, {"call": handler})

    def register_background_daemon(self, name, startup, shutdown, *, periodic_task=None, shutdown_timeout=5.0):
        task = None if periodic_task is None else _parse_periodic_task(periodic_task)
        details = {
            "shutdown_ms": shutdown_timeout * 1000,
            "task": None if task is None else {"name": task.name, "interval_ms": task.interval_seconds * 1000, "at_start": task.run_at_start},
        }
        callbacks = {"startup": startup, "shutdown": shutdown, "run": None if task is None else task.run}
        return self._register("daemon", name, details, callbacks)

    def register_system_prompt_section(self, id, content, position="after_memory", max_chars=4000, **_):
        """A text, or a function that returns one at the start of a session."""
        if callable(content):
            return self._register("section", id, {"text": None, "max_chars": max_chars}, {"call": content})
        return self._register("section", id, {"text": content, "max_chars": max_chars}, {})

    def register_memory_provider(self, provider):
        """An object of `agent.memory_provider.MemoryProvider`. It is used if `memory.provider` names it."""
        from .memory import ProviderInstances

        instances = ProviderInstances(self._module, self._about, provider)
        return self._register("memory", provider.name, {"methods": instances.methods()}, {"call": instances.call})

    def register_skill(self, name, path, description="", **_):
        """A skill that is read as `<plugin>:<name>`. `path` is its folder or its SKILL.md."""
        return self._register("skill", name, {"path": str(path), "description": description or ""}, {})

    def on_unload(self, callback):
        """Called when the plugin is unloaded, before its registrations are removed."""
        self._register("unload", "unload", {}, {"call": callback})

    # Requests

    def inject_message(self, content, role="user", session_key=None):
        """Injects a message as if a user had written it. Returns False if that is not allowed."""
        return self._module.send_request("inject", [content, role, session_key])

    def dispatch_tool(self, name, args=None):
        """Runs a tool like the agent, and returns the result that the model would receive."""
        return self._module.send_request("dispatchTool", [name, args or {}])

    def call_mcp(self, server, tool, arguments=None, timeout=30):
        """
        Calls a tool of an MCP server that `plugins.entries.<id>.mcp_allowlist` names. Returns `{"ok": True, "result": …}` or
        `{"ok": False, "error": …}`. `timeout` is in seconds. Raises a PermissionError for every other server.
        """
        try:
            seconds = float(timeout)
        except (TypeError, ValueError):
            seconds = 30.0
        return self._module.send_request("callMcp", [server, tool, dict(arguments or {}), seconds])

    def _register(self, kind, name, details, callbacks):
        if not isinstance(name, str):
            raise TypeError(f"register_{kind}: expected a name, found {type(name).__name__}")
        return Registration(self._module, self._module.register(kind, name, details, callbacks), name)


def _parse_periodic_task(task):
    """Accepts a PeriodicTaskSpec, or an object or a dict with its fields under common names."""
    read = task.get if isinstance(task, dict) else lambda field: getattr(task, field, None)

    def first(*fields):
        return next((read(field) for field in fields if read(field) is not None), None)

    run = first("run", "callback", "func", "fn", "handler", "task")
    seconds = first("interval_seconds", "interval_s", "interval_sec", "interval")
    milliseconds = first("interval_ms", "intervalMs")
    if seconds is None and milliseconds is not None:
        seconds = milliseconds / 1000
    if not isinstance(seconds, (int, float)) or seconds <= 0:
        raise TypeError("periodic_task: expected interval_seconds above 0")
    at_start = bool(first("run_at_start", "runAtStart", "run_on_start"))
    return PeriodicTaskSpec(str(first("name") or "task"), seconds, run, at_start)
