"""The arguments of boto3 for a body."""

import base64
import json
from typing import Any

import pytest

from reel.bedrock import converse_arguments

PICTURE = {"image": {"format": "png", "source": {"bytes": base64.b64encode(b"tape").decode()}}}
CALL = {"toolUse": {"toolUseId": "c1", "name": "look", "input": {"bytes": "AAAA"}}}


def arguments(**body: Any) -> dict[str, Any]:
    return converse_arguments(json.dumps(body))


def test_bytes_are_bytes() -> None:
    """In messages, results and the prompt, whatever they belong to."""
    hidden = {"reasoningContent": {"redactedContent": "dGFwZQ=="}}
    answered = {"toolResult": {"toolUseId": "c1", "content": [PICTURE, {"text": "x"}]}}
    found = arguments(messages=[{"role": "user", "content": [PICTURE, hidden, answered]}], system=[{"text": "S"}])
    first, second, third = found["messages"][0]["content"]

    assert b"tape" == first["image"]["source"]["bytes"] == second["reasoningContent"]["redactedContent"]
    assert b"tape" == third["toolResult"]["content"][0]["image"]["source"]["bytes"]
    assert [{"text": "S"}] == found["system"]


def test_what_a_tool_has_stays_as_it_is() -> None:
    """Its input, its result as an object and its schema are its own."""
    answered = {"toolResult": {"toolUseId": "c1", "content": [{"json": {"bytes": "AAAA"}}]}}
    body = {"messages": [{"role": "user", "content": [CALL, answered]}], "toolConfig": {"tools": [{"bytes": "AAAA"}]}}

    assert body == arguments(**body)


@pytest.mark.parametrize("text", ["[]", "{}", "{"])
def test_what_is_not_a_body(text: str) -> None:
    """It is refused."""
    with pytest.raises(ValueError, match=r"no list of messages|Expecting"):
        converse_arguments(text)
