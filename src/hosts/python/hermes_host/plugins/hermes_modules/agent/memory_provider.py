"""The base class of memory providers, with the names and arguments of Hermes."""
import re
import threading
from abc import ABC, abstractmethod
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, Dict, List, Optional

PRE_COMPRESS_CHECKPOINT_API_VERSION = 2
INDICATOR_GLYPH = "🧠"

_TRIVIAL_WORDS = (
    "yes no ok okay sure thanks y n yep nope yeah nah hi hey hello yo sup continue proceed cool nice great done next lgtm k"
).split() + ["thank you", "go ahead", "do it", "got it"]
TRIVIAL_PROMPT_RE = re.compile(rf"^({'|'.join(_TRIVIAL_WORDS)})[^\w]*$", re.IGNORECASE)


def is_trivial_prompt(text: Optional[str]) -> bool:
    """Nothing, a command, a greeting or a confirmation: no memory can be asked about it."""
    plain = (text or "").strip()
    return not plain or plain.startswith("/") or bool(TRIVIAL_PROMPT_RE.match(plain))


def ctx_bound(function):
    """The function, to be run in another thread with the context variables of the caller."""
    return partial(copy_context().run, function)


def spawn_context_thread(target, *, name=None, daemon=True, args=(), kwargs=None):
    """A thread that has not started yet and runs with the context variables of the caller."""
    return threading.Thread(target=partial(copy_context().run, target, *args, **(kwargs or {})), name=name, daemon=daemon)


@dataclass(frozen=True)
class RecallStatus:
    provider_label: str
    count: int
    glyph: str = INDICATOR_GLYPH


class MemoryProvider(ABC):
    pre_compress_checkpoint_api_version = 1

    @property
    @abstractmethod
    def name(self) -> str:
        """The name for `memory.provider`."""

    @abstractmethod
    def is_available(self) -> bool:
        """Whether it is configured; without network."""

    def unavailable_reason(self) -> str:
        """What is missing, for people."""
        return ""

    @abstractmethod
    def initialize(self, session_id: str, **kwargs) -> None:
        """Called once for each object. `kwargs`: `hermes_home`, `platform`, `agent_context`, `user_id` …"""

    def initialize_for_inspection(self, session_id: str, **kwargs) -> None:
        self.initialize(session_id=session_id, **kwargs)

    def shutdown(self) -> None:
        """Called before the object is dropped."""

    def system_prompt_block(self) -> str:
        """A part of the system prompt of a new session."""
        return ""

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """The memories for a message, before the first model call of a turn."""
        return ""

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Called after a turn: prepares what the next `prefetch` returns."""

    def recall_status(self) -> Optional[RecallStatus]:
        return None

    def on_turn_start(self, turn_number: int, message: str, **kwargs) -> None:
        """A turn begins."""

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        """A turn was answered."""

    def on_session_end(self, messages: List[Dict[str, Any]]) -> None:
        """A conversation ends."""

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs,
    ) -> None:
        """The conversation goes on in another session, or without its last messages."""

    def on_pre_compress(self, messages: List[Dict[str, Any]]) -> str:
        """What the summary of these messages must keep."""
        return ""

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: Optional[Dict[str, Any]] = None
    ) -> None:
        """The built-in memory was changed."""

    def on_delegation(self, task: str, result: str, *, child_session_id: str = "", **kwargs) -> None:
        """A sub-agent has ended."""

    @abstractmethod
    def get_tool_schemas(self) -> List[Dict[str, Any]]:
        """Tools as `{"name", "description", "parameters"}`."""

    def handle_tool_call(self, tool_name: str, args: Dict[str, Any], **kwargs) -> str:
        """The result of a tool as a text, mostly JSON."""
        raise NotImplementedError(f"{self.name} has no tool {tool_name}")

    def get_config_schema(self) -> List[Dict[str, Any]]:
        """What `hermes memory setup` asks for."""
        return []

    def save_config(self, values: Dict[str, Any], hermes_home: str) -> None:
        """Stores what was answered, without secrets."""

    def backup_paths(self) -> List[str]:
        return []
