"""The contracts of seed 003: a request that is overridden, a list of tools that is filtered, a daemon with its task."""
import json
import os


def note(what, **values):
    with open(os.environ["STATE_RECORD"], "a") as file:
        file.write(json.dumps({"kora": what, **values}) + "\n")


def calm(request, route, **kwargs):
    return {"override": {"temperature": 0, "seen_route": route}}


def fewer_tools(tools, route, **kwargs):
    named = [tool for tool in tools if "terminal" in json.dumps(tool)]
    note("tools", before=len(tools), after=len(named), route=route)
    return {"override": named}


def larger(request, response, iteration, **kwargs):
    if iteration == 1 or "not sure" not in json.dumps(response):
        return None
    return {"override": {"model": "large-model"}}


def start_up():
    note("startup")


async def shut_down():
    note("shutdown")


def tick():
    note("tick")


def register(ctx):
    ctx.register_hook("pre_api_request_mutable", calm)
    ctx.register_hook("pre_tool_list_finalized", fewer_tools)
    ctx.register_hook("post_llm_call_can_reissue", larger)
    ctx.register_background_daemon(
        "kora-ticker",
        start_up,
        shut_down,
        periodic_task=ctx.PeriodicTaskSpec("tick", 3600, tick, run_at_start=True),
        shutdown_timeout=5.0,
    )
