"""The results of tools, as in Hermes. Tools are registered with `ctx.register_tool`."""
import json


def tool_error(message, **fields):
    return json.dumps({"error": str(message), **fields}, ensure_ascii=False)


def tool_result(data=None, **fields):
    return json.dumps(fields if data is None else data, ensure_ascii=False)
