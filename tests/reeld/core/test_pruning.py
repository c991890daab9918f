"""What becomes of events that are pruned, and how these are known."""

from typing import Any

import pytest

from reel.base.strict_json import encode
from reel.said.records import read_exactly
from reeld.core.pruning import Pruning, marker_of, says_nothing

_ABOUT = "2026-11-29 09:40 UTC"
_MARKER = f"[pruned {_ABOUT}]"
_CALL = {"type": "tool_call", "id": "c", "name": "run", "arguments": '{"secret": 1}'}


def blocks(*made: Any, **more: Any) -> str:
    return encode({"blocks": list(made), **more})


@pytest.mark.parametrize(
    ("kind", "content", "data_json"),
    [
        ("user", "a secret", None),
        ("user", "", None),
        ("assistant", "secret", blocks({"type": "text", "text": "secret"}, _CALL, provider_metadata={"a": "secret"})),
        ("tool_call", "run", encode({"tool_call_id": "c", "name": "run", "arguments": '{"secret": 1}'})),
        ("tool_result", None, encode({"tool_call_id": "c", "output": "", "success": True})),
        (
            "tool_result",
            None,
            blocks({"type": "tool_result", "tool_call_id": "c", "content": [{"type": "text", "text": "secret"}]}),
        ),
        ("user", "", blocks({"type": "media", "media_type": "image/png", "data_base64": "c2VjcmV0"})),
        ("assistant", "", blocks({"type": "thinking", "text": "secret", "signature": "secret"})),
        ("system", "a secret", None),
        ("user", None, "{not secret"),
        ("command", None, encode({"mine": "a secret"})),
        ("state", "key", encode({"value": ["secret", 1, 2, 3]})),
    ],
)
def test_an_event_that_is_pruned(kind: str, content: str | None, data_json: str | None) -> None:
    """It says nothing but when it was pruned, is a message if it was one, and is known; it is not pruned again."""
    made = Pruning(_ABOUT).event(kind, content, data_json, "ref")

    assert made is not None
    assert "secret" not in f"{made.content}{made.data_json}".replace('{\\"secret', "")
    assert "ref" == made.ref
    assert marker_of(kind, content, data_json) is None
    assert _MARKER == marker_of(kind, made.content, made.data_json)
    assert Pruning(_ABOUT).event(kind, made.content, made.data_json, "ref") is None
    if data_json is None or not data_json.startswith("{not"):
        read_exactly(kind, made.content, made.data_json)


@pytest.mark.parametrize(("kind", "content"), [("mark", None), ("system", ""), ("system", None)])
def test_what_says_nothing(kind: str, content: str | None) -> None:
    """A mark, and the removal of a prompt, stay as they are."""
    assert says_nothing(kind, content)
    assert Pruning(_ABOUT).event(kind, content, None) is None


def test_a_value_that_was_removed() -> None:
    """It has nothing that could be pruned."""
    assert Pruning(_ABOUT).event("state", "key", None) is None


@pytest.mark.parametrize("text", [f"it says {_MARKER}", f"{_MARKER} and more", "[pruned yesterday]"])
def test_who_speaks_of_it(text: str) -> None:
    """A message that quotes the marker was not pruned."""
    assert marker_of("user", text, None) is None
    assert marker_of("assistant", text, blocks({"type": "text", "text": text})) is None
