"""Talks to the API with OpenAI's official client for Python. Prints the name of each step that has succeeded.

The environment names the server: OPENAI_BASE_URL, OPENAI_API_KEY. PICTURE is a data URL.
"""

import asyncio
import os

import openai
from openai import AsyncOpenAI, OpenAI

client = OpenAI(max_retries=1)
picture = os.environ["PICTURE"]


def say(text: str) -> list:
    return [{"role": "user", "content": text}]


def models() -> None:
    (only,) = client.models.list().data
    assert only.object == "model" and client.models.retrieve(only.id).id == only.id
    try:
        client.models.retrieve("unknown")
        raise AssertionError("the model exists")
    except openai.NotFoundError as error:
        assert error.code == "model_not_found" and error.param == "model", error


def completion() -> None:
    done = client.chat.completions.create(model="any", messages=say("hello"), temperature=0.2, max_completion_tokens=50)
    (choice,) = done.choices
    assert choice.message.content == "You said: hello" and choice.finish_reason == "stop", done
    assert done.usage is not None and done.usage.total_tokens == 15, done


def raw_response() -> None:
    raw = client.chat.completions.with_raw_response.create(
        model="any", messages=say("hello"), extra_headers={"X-Hermes-Session-Id": "from-python"}
    )
    assert raw.headers["x-hermes-session-id"] == "from-python", raw.headers
    assert raw.parse().choices[0].message.content == "You said: hello"


def completion_stream() -> None:
    stream = client.chat.completions.create(
        model="any", messages=say("tools"), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "You said: tools", text
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].usage is not None and chunks[-1].usage.completion_tokens == 3


def completion_helper() -> None:
    with client.chat.completions.stream(model="any", messages=say("tools")) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        assert "".join(deltas) == "You said: tools", deltas
        assert stream.get_final_completion().choices[0].message.content == "You said: tools"


def failing_stream() -> None:
    try:
        list(client.chat.completions.create(model="any", messages=say("fail"), stream=True))
        raise AssertionError("the turn has not failed")
    except openai.APIError as error:
        assert error.code == "provider/auth" and error.type == "agent_incomplete", error


def failure() -> None:
    try:
        client.chat.completions.create(model="any", messages=say("fail"))
        raise AssertionError("the turn has not failed")
    except openai.InternalServerError as error:
        assert error.status_code == 502 and error.code == "provider/auth", error


def responses() -> None:
    first = client.responses.create(model="any", input="one", instructions="Be brief.", metadata={"topic": "test"})
    assert first.output_text == "You said: one" and first.status == "completed", first
    second = client.responses.create(model="any", input="two", previous_response_id=first.id)
    assert second.previous_response_id == first.id and second.instructions == "Be brief.", second
    assert client.responses.retrieve(first.id).output_text == "You said: one"
    client.responses.delete(first.id)
    try:
        client.responses.retrieve(first.id)
        raise AssertionError("the response was not deleted")
    except openai.NotFoundError as error:
        assert error.code == "response_not_found", error


def response_stream() -> None:
    text, types = "", []
    for event in client.responses.create(model="any", input="tools", stream=True):
        types.append(event.type)
        if event.type == "response.output_text.delta":
            text += event.delta
    assert text == "You said: tools", text
    assert types[0] == "response.created" and types[-1] == "response.completed", types


def response_helper() -> None:
    with client.responses.stream(model="any", input="tools") as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_text == "You said: tools"


def pictures() -> None:
    part = {"type": "image_url", "image_url": {"url": picture, "detail": "low"}}
    content = [{"type": "text", "text": "look"}, part]
    seen = client.chat.completions.create(model="any", messages=[{"role": "user", "content": content}])
    assert seen.choices[0].message.content == "You said: look with 1", seen
    parts = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": picture, "detail": "auto"}]
    answer = client.responses.create(model="any", input=[{"role": "user", "content": parts}])
    assert answer.output_text == "You said: look with 1", answer


def refusals() -> None:
    try:
        client.chat.completions.create(model="any", messages=say("hello"), n=2)
        raise AssertionError("two choices")
    except openai.BadRequestError as error:
        assert error.param == "n" and error.code == "unsupported_value", error
    try:
        client.with_options(api_key="wrong").models.list()
        raise AssertionError("a wrong key")
    except openai.AuthenticationError as error:
        assert error.status_code == 401, error
    try:
        client.embeddings.create(model="any", input="hello")
        raise AssertionError("embeddings")
    except openai.InternalServerError as error:
        assert error.status_code == 501 and error.code == "embeddings_not_supported", error


def close() -> None:
    with client.chat.completions.create(model="any", messages=say("wait"), stream=True) as stream:
        next(iter(stream))


async def with_async_client() -> None:
    async with AsyncOpenAI() as other:
        stream = await other.responses.create(model="any", input="hello", stream=True)
        types = [event.type async for event in stream]
        assert types[-1] == "response.completed", types


def asynchronous() -> None:
    asyncio.run(with_async_client())


for step in (
    models,
    completion,
    raw_response,
    completion_stream,
    completion_helper,
    failing_stream,
    failure,
    responses,
    response_stream,
    response_helper,
    pictures,
    refusals,
    asynchronous,
    close,
):
    step()
    print(step.__name__, flush=True)
