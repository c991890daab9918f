"""What a log says at the places that a source is read at again."""

import json
from typing import Any

import pytest

from reel.importing.adding.stored import Stored
from reel.importing.steps import Part


def text(words: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": words}


def event(ref: str, content: str | None, kind: str = "user", data: Any = None) -> dict[str, Any]:
    """Return an event of a log."""
    return {"kind": kind, "ref": ref, "content": content, "data_json": None if data is None else json.dumps(data)}


def stored(*events: Any) -> Stored:
    """Return what is known of a log."""
    found = Stored()
    assert list(events) == list(found.note(events))
    return found


def test_what_is_the_same() -> None:
    """A message, a prompt, and what nothing is known of, differ from nothing."""
    log = stored(event("u", "Hi"), event("s", "Be brief.", "system"), {"kind": "created"})

    assert not log.differs((Part("u", [text("Hi")]),))
    assert not log.differs((Part("s", [text("Be brief.")]),))
    assert not log.differs((Part("other", [text("Hi")]),))


@pytest.mark.parametrize("words", ["Bye", "hi", "Hi ", ""])
def test_what_was_edited(words: str) -> None:
    """One other character is noticed."""
    assert stored(event("u", "Hi")).differs((Part("u", [text(words)]),))


def test_an_edited_call() -> None:
    """The name and the arguments of a call count."""
    call = {"type": "tool_call", "id": "c", "name": "ls", "arguments": "{}"}
    log = stored(event("a", None, "tool_call", {"tool_call_id": "c", "name": "ls", "arguments": "{}"}))

    assert not log.differs((Part("a", [call]),))
    assert log.differs((Part("a", [{**call, "name": "rm"}]),))
    assert log.differs((Part("a", [{**call, "arguments": '{"a":1}'}]),))


def test_a_message_that_grew() -> None:
    """It is in the log in several, each under the id of its last part, and each says only what was new."""
    log = stored(event("p1", "one"), event("p2", "two"))
    parts = (Part("p1", [text("one")]), Part("p2", [text("two")]))

    assert not log.differs(parts)
    assert log.differs((parts[0], Part("p2", [text("three")])))


def test_what_was_redacted() -> None:
    """Such a log should differ from its source, and nothing is said about it."""
    assert not stored(event("u", "[redacted]"), event("", None, "redacted")).differs((Part("u", [text("secret")]),))
    in_a_fork = "[redacted 2026-11-29 21:30 UTC by me]"
    assert not stored(event("u", in_a_fork)).differs((Part("u", [text("secret")]),))


def test_a_damaged_message() -> None:
    """Nothing is known of it."""
    assert not stored(event("u", None, "tool_call", [])).differs((Part("u", [text("Hi")]),))


def test_pictures() -> None:
    """A later version may read more of them, so they do not count."""
    picture = {"type": "media", "mime_type": "image/png", "data_base64": "AAAA"}

    assert not stored(event("u", "Hi")).differs((Part("u", [text("Hi"), picture]),))
