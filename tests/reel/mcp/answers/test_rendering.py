"""Messages as text: what is shown of them, and what is left where room is short."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reel.mcp.answers.answer import size
from reel.mcp.answers.cursors import Cursor, read_cursor
from reel.mcp.answers.rendering import Look, Rendering, render
from reel.reading.layout import Layout

LOOK = Look(str, at=90)


def message(*content: dict[str, Any], role: str = "assistant") -> Any:
    """Return a message."""
    return {"role": role, "content": list(content), "provider_metadata": {}, "seq": 12, "time": 0}


def result(text: Any) -> dict[str, Any]:
    """Return a result of a tool."""
    return {"type": "tool_result", "tool_call_id": "c", "content": text, "is_error": False}


def rendered(*content: dict[str, Any], look: Look = LOOK) -> Rendering:
    """Return the text of a message."""
    return render(message(*content), Layout(), look)


def test_a_message() -> None:
    """A message has its number, its role and its time, its texts, and what was called with what result."""
    call = {"type": "tool_call", "id": "c", "name": "grep", "arguments": '{"a": 1}'}
    shown = rendered({"type": "text", "text": "Look:\nthere"}, call, result("found"))

    assert [
        "#12 assistant, 1970-01-01 00:00 UTC",
        "Look:",
        "there",
        "[call grep]",
        '{"a": 1}',
        "[result of grep]",
        "found",
    ] == shown.whole.splitlines()


def test_what_only_a_provider_can_read() -> None:
    """Neither encrypted reasoning nor signatures nor blocks of a provider's own are shown, with thinking or without."""
    hidden = (
        {"type": "redacted_thinking", "data": "SECRET"},
        {"type": "opaque", "provider": "p", "data_json": '"SECRET"'},
        {"type": "thinking", "text": "hm", "signature": "SECRET"},
        result([{"type": "opaque", "provider": "p", "data_json": '"SECRET"'}]),
    )
    shown = rendered(*hidden, look=Look(str, thinking=True)).whole

    assert "SECRET" not in shown
    assert "\nhm" in shown
    assert "hm" not in rendered(*hidden).whole


def test_controls_and_secrets() -> None:
    """Control characters are shown as escapes, and secrets are hidden in texts, calls and results alike."""
    texts = ({"type": "text", "text": "a\x1b[0m KEY"}, result("KEY"), result([{"type": "text", "text": "KEY"}]))
    shown = rendered(*texts, look=Look(lambda text: text.replace("KEY", "[masked]"))).whole

    assert "a\\x1b[0m [masked]" in shown
    assert 3 == shown.count("[masked]")
    assert "KEY" not in shown


TEXTS = st.text(max_size=400) | st.sampled_from(["x" * 5000, "ü" * 3000, "line\n" * 900])
BLOCKS = TEXTS.map(lambda text: {"type": "text", "text": text}) | TEXTS.map(result)


@given(st.lists(BLOCKS, max_size=4), st.integers(0, 4000), st.integers(0, 4000))
def test_a_message_fits(blocks: list[dict[str, Any]], room: int, most: int) -> None:
    """A message never takes more room than it has, and is whole if all of it has room."""
    shown = rendered(*blocks)
    text = shown.fitted(room, most)

    assert size(text) <= room
    assert size(shown.whole) > min(room, most) or text == shown.whole


@given(st.lists(BLOCKS, min_size=1, max_size=3), st.integers(300, 4000))
def test_the_rest_of_a_message(blocks: list[dict[str, Any]], room: int) -> None:
    """Who reads on from one cursor to the next reads each character once."""
    shown = rendered(*blocks)
    read = ""
    cursor: Cursor | None = Cursor("in", 12, at=90)
    while cursor is not None:
        text, following = shown.rest(cursor.part, cursor.offset, room)
        read += text
        assert size(text) <= room
        cursor = following

    assert shown.whole == read


def test_the_cursor_of_what_is_left_out() -> None:
    """The words in the place of what is left out say how much it is, and their cursor reads on there."""
    shown = rendered(result("".join(f"line {number}\n" for number in range(1000))))
    text = shown.fitted(2000, 1000)
    cursor = read_cursor(text.partition("with cursor ")[2].partition("]")[0])

    assert cursor is not None
    assert (12, 90) == (cursor.seq, cursor.at)
    following, _ = shown.rest(cursor.part, cursor.offset, 100)
    kept = text[: text.index(" bytes left out")].rpartition("\n[")[0]
    assert shown.whole.startswith(kept + following)
