"""The arguments of ``pre_gateway_dispatch``, as Hermes passes them: an event with attributes, the gateway, the session store."""

# Fields of Hermes' `MessageEvent` and `SessionSource` that the gateway does not send.
ABSENT_FIELDS = frozenset(
    "raw_message platform_update_id prompt_response auto_skill channel_prompt channel_context guild_id message_id profile".split()
)


class Fields(dict):
    """A dict whose keys are attributes too."""

    def __getattr__(self, name):
        if name in self:
            return self[name]
        if name in ABSENT_FIELDS:
            return None
        raise AttributeError(f"{type(self).__name__} has no field {name}; there are {', '.join(sorted(self))}")

    def __setattr__(self, name, value):
        self[name] = value

    def to_dict(self):
        return dict(self)


class Name(str):
    """A text that can be used like a member of an enumeration."""

    @property
    def value(self):
        return str(self)


class Event(Fields):
    """A received message. Changes have no effect: return ``{"action": "rewrite", "text": …}`` instead."""

    def is_command(self):
        return self.allow_gateway_control and self.text.lstrip().startswith("/")

    def get_command(self):
        if not self.is_command():
            return None
        name = self.text.split(maxsplit=1)[0][1:].split("@", 1)[0].lower()
        return name if name and "/" not in name else None

    def get_command_args(self):
        if not self.is_command():
            return self.text
        words = self.text.split(maxsplit=1)
        return words[1].strip() if len(words) > 1 else ""


class Gateway:
    """What a callback can ask of the gateway."""

    session_store = None

    def __init__(self, module):
        self.adapters = {}
        self._module = module

    def inject_message(self, content, role="user", session_key=None):
        """As `ctx.inject_message`."""
        return self._module.send_request("inject", [content, role, session_key])


def prepare_arguments(module, keywords):
    """Adds what Hermes passes. The sessions are not accessible, for which the contract defines None."""
    event = keywords.get("event")
    if isinstance(event, dict):
        keywords["event"] = _create_event(event)
    return {**keywords, "gateway": Gateway(module), "session_store": None}


def _create_event(event):
    source = Fields(event.get("source") or {})
    source["platform"] = Name(source.get("platform") or "")
    return Event({**event, "source": source, "message_type": Name(event.get("message_type") or "text")})
