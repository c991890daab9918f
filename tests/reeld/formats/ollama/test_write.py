"""Conversations written for Ollama's own API."""

from typing import Any

import pytest

from tests.formats.checker import check
from tests.reeld.formats.histories import IMAGE, Json, call, model, opaque, result, thinking, tool, user
from tests.reeld.formats.sending import sent

QWEN = "qwen3:8b"


def messages(*history: Any) -> list[Json]:
    """Render a history, check the body, and return its messages."""
    body, _ = sent("ollama", history, QWEN)

    assert [] == check("ollama", body)
    found: list[Json] = body["messages"]
    return found


def why(*history: Any) -> list[tuple[int | None, str, str]]:
    """Render a history, and return what is reported: seq, action and reason."""
    return [(change.seq, change.action, change.why) for change in sent("ollama", history, QWEN)[1]]


def test_a_tool_loop() -> None:
    """Arguments are an object, and a result names its call and its tool (rules O2 and O4)."""
    history = messages(
        {"role": "system", "content": "Be brief"},
        user("Hi"),
        model("Let me look.", call(arguments='{"tape": 1}')),
        tool(result()),
    )

    assert [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": {"tape": 1}}}],
        },
        {"role": "tool", "tool_name": "look", "tool_call_id": "c1", "content": "done"},
    ] == history


def test_calls_without_words() -> None:
    """A message of calls alone has an empty text."""
    asked = messages(user("Hi"), model(call("a"), call("b")), tool(result("b"), result("a")))[1]

    assert ("", ["a", "b"]) == (asked["content"], [each["id"] for each in asked["tool_calls"]])


def test_the_calls_of_several_messages_are_in_the_last() -> None:
    """Their results follow it directly."""
    said = messages(user("Hi"), model("One.", call("a")), model("Two."), tool(result("a")))

    assert [None, 1] == [len(each["tool_calls"]) if "tool_calls" in each else None for each in said[1:3]]


def test_pictures_are_base64_beside_the_text() -> None:
    """Texts of a message are one text."""
    (said,) = messages(user("Look:", {**IMAGE, "mime_type": "image/jpg"}, "Well?"))

    assert {"role": "user", "content": "Look:\nWell?", "images": ["AAAA"]} == said


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ({**IMAGE, "mime_type": "image/gif"}, "media of type image/gif"),
        ({"type": "media", "mime_type": "image/png", "url": "https://example.org/a.png"}, "by URL"),
        ({**IMAGE, "data_base64": "AAA"}, "not base64"),
        (opaque("{}", "ollama"), "Ollama has no opaque blocks"),
    ],
)
def test_what_it_cannot_read_is_left_out(block: Json, reason: str) -> None:
    """The report says why (rule O3)."""
    ((seq, action, told),) = why(user("Hi", block))

    assert (1, "dropped") == (seq, action)
    assert reason in told


def test_media_that_came_from_ollama_go_back() -> None:
    """A type that is not known was read once."""
    own = {**IMAGE, "mime_type": "image/*", "provider_metadata": {"provider": "ollama"}}

    assert ["AAAA"] == messages(user(own))[0]["images"]


def test_pictures_of_a_result_follow_as_the_users() -> None:
    """A result is text."""
    *_, answered, shown = messages(
        user("Hi"), model(call()), tool(result(content=[{"type": "text", "text": "x"}, IMAGE]))
    )

    assert ("tool", "x") == (answered["role"], answered["content"])
    assert ("user", ["AAAA"]) == (shown["role"], shown["images"])


def test_a_failed_result_says_so() -> None:
    """There is no flag for it."""
    answered = messages(user("Hi"), model(call()), tool(result(content="no tape", is_error=True)))[-1]

    assert "Error: no tape" == answered["content"]


def test_pictures_of_the_assistant_are_left_out() -> None:
    """They come from the user only."""
    assert [(2, "dropped", "media from the assistant")] == why(user("Hi"), model(IMAGE, "OK"), user("So?"))


def test_thinking_goes_back_to_its_model() -> None:
    """Another model, and another provider, gets none; alone it is no message (rule O6)."""
    own = thinking("hm", None, "ollama", model=QWEN)
    other = thinking("other", None, "ollama", model="llama3.2")
    said = messages(
        user("Hi"), model(own, {**own, "text": "so"}, other, thinking(), "OK"), user("So?"), model(own), user("?")
    )

    assert {"role": "assistant", "content": "OK", "thinking": "hm\nso"} == said[1]
    assert ["user", "assistant", "user", "user"] == [each["role"] for each in said]


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (thinking(" ", None, "ollama", model=QWEN), "an empty thought"),
        ({"type": "redacted_thinking", "data": "x", "provider": "ollama"}, "Ollama has no redacted thinking"),
    ],
)
def test_thinking_that_cannot_be_sent(block: Json, reason: str) -> None:
    """The report says why."""
    assert [(2, "dropped", reason)] == why(user("Hi"), model(block, "OK"), user("So?"))


def test_instructions_in_mid_history_keep_their_role() -> None:
    """A developer's are the system's; with a picture they are the user's (rule O5)."""
    told = user("Be brief", role="developer")
    shown = user("Like this:", IMAGE, role="system")

    assert ["user", "system", "user"] == [each["role"] for each in messages(user("Hi"), told, shown)]
    assert [(1, "downgraded", "a system message is sent as the user's")] == why(shown)


def test_arguments_that_are_not_an_object() -> None:
    """They are sent inside of one (rule X8)."""
    asked = messages(user("Hi"), model(call(arguments='{"a":')), tool(result()))[1]

    assert {"INVALID_JSON": '{"a":'} == asked["tool_calls"][0]["function"]["arguments"]


def test_tools_are_renamed() -> None:
    """Tools of ``extra`` get the names of their calls."""
    extra = {"tools": [{"type": "function", "function": {"name": "a.b"}}]}
    body, _ = sent("ollama", [user("Hi"), model(call(name="a.b")), tool(result())], QWEN, extra)

    (declared,) = body["tools"]
    assert declared["function"]["name"] == body["messages"][1]["tool_calls"][0]["function"]["name"]
