"""Requests of Ollama's own API, loaded."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.body import RenderRequest
from reeld.formats.fields import LoadedRequest
from reeld.formats.ollama.read import read_request
from reeld.formats.render import render
from tests.formats.cases import ollama
from tests.reeld.formats.histories import Json, entries_of, prompt_in
from tests.reeld.formats.meaning import same

PNG, JPEG, WEBP, WAV = "iVBORw0KGgo=", "/9j/4AAQ", "UklGRgAAAABXRUJQ", "UklGRgAAAABXQVZF"


def loaded(*messages: Any, **more: Any) -> LoadedRequest:
    return read_request({"messages": list(messages), **more})


def blocks(**message: Any) -> list[Json]:
    """Return the blocks of one message."""
    (found,) = loaded({"role": "user", **message}).messages
    content: list[Json] = found["content"]
    return content


def refused(*messages: Any) -> str:
    """Return the place for which a request is refused."""
    with pytest.raises(InvalidMessage) as error:
        loaded(*messages)
    field: str = error.value.data["field"]
    return field


def test_a_request_keeps_its_meaning() -> None:
    """What is loaded is rendered as it was, but for ids that the calls did not have."""
    call = {"function": {"index": 0, "name": "look", "arguments": {"a": 1}}}
    body = ollama.body(
        {"role": "system", "content": "Be brief"},
        ollama.user("Look", images=[PNG]),
        {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call]},
        {"role": "tool", "tool_name": "look", "content": "done"},
        {"role": "system", "content": "Be polite"},
        ollama.user("So?"),
        model="qwen3:8b",
    )
    found = read_request(body)
    entries = entries_of(found.messages)
    rendered, _ = render(RenderRequest("ollama", "qwen3:8b"), entries, prompt_in(entries))

    before, after = same("ollama", body, json.loads(rendered.body))
    assert before == after
    assert "synthesized" in [change.action for change in found.report]


def test_what_is_not_history_is_named() -> None:
    """Tools and options are the caller's."""
    report = loaded(ollama.user(), tools=[], options={}, model="qwen3").report

    assert ["tools", "options"] == [change.why.split()[0] for change in report]


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (WEBP, "image/webp"),
        (WAV, "audio/wav"),
        ("AAAA", "image/*"),
        ("é", "image/*"),
    ],
)
def test_the_type_of_a_picture_is_in_its_bytes(data: str, mime: str) -> None:
    """The API does not name it; some bytes tell nothing."""
    (found,) = blocks(images=[data])

    assert (mime, data) == (found["mime_type"], found["data_base64"])


def test_a_data_url_is_its_bytes() -> None:
    """It names a type that the bytes do not tell (rule X12)."""
    (found,) = blocks(images="data:image/heic;base64,AAAA")

    assert ("image/heic", "AAAA") == (found["mime_type"], found["data_base64"])


def test_content_as_other_apis_have_it() -> None:
    """A list of texts, and roles in any case; nothing is an empty text (rule X12)."""
    assert ["a", "b"] == [block["text"] for block in blocks(content=["a", {"type": "text", "text": "b"}])]
    assert [{"type": "text", "text": ""}] == blocks()
    assert "assistant" == loaded({"role": "Assistant", "content": "OK"}).messages[0]["role"]


def test_results_find_their_calls_by_name() -> None:
    """Calls with ids, and results without."""
    calls = [ollama.call("a", "one"), ollama.call("b", "two")]
    _, one, two = loaded(
        ollama.model(*calls), ollama.result(None, tool_name="two"), ollama.result("", tool_name=None, name="one")
    ).messages

    assert ["b", "a"] == [message["content"][0]["tool_call_id"] for message in (one, two)]


def test_a_result_with_pictures() -> None:
    """They are blocks beside its text."""
    _, answered = loaded(ollama.model(ollama.call()), ollama.result(images=[PNG])).messages

    assert ["text", "media"] == [block["type"] for block in answered["content"][0]["content"]]


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ({"role": "robot", "content": "x"}, "messages[0].role"),
        ({"role": "user", "content": 1}, "messages[0].content"),
        ({"role": "user", "content": [{"text": 1}]}, "messages[0].content[0].text"),
        ({"role": "user", "images": [1]}, "messages[0].images[0]"),
        ({"role": "assistant", "thinking": 1}, "messages[0].thinking"),
        ({"role": "assistant", "tool_calls": [{"function": {}}]}, "messages[0].tool_calls[0].function.name"),
        ({"role": "assistant", "tool_calls": [{"id": 1, "function": {"name": "x"}}]}, "messages[0].tool_calls[0].id"),
        ({"role": "tool", "tool_call_id": 1}, "messages[0].tool_call_id"),
        ({"role": "system", "images": [PNG]}, "system"),
    ],
)
def test_what_is_not_a_message_is_refused(message: Json, where: str) -> None:
    """The error names the place."""
    assert where == refused(message)
