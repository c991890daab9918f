"""Conversations in the words of Anthropic's Messages."""

from typing import Any

import pytest

from reeld.formats.repair import PLACEHOLDER
from tests.formats.checker import check
from tests.reeld.formats.histories import IMAGE, PDF, SOUND, call, model, opaque, result, text, thinking, tool, user
from tests.reeld.formats.sending import sent

MARK = {"type": "ephemeral"}
MARKED = {"provider": "anthropic", "cache_control": MARK}
HIDDEN = {"type": "redacted_thinking", "data": "AAAA", "provider": "anthropic"}
RECENT, OLD = "claude-opus-4-8", "claude-haiku-4-5"


def messages(*history: Any, named: str | None = RECENT) -> list[dict[str, Any]]:
    """Render a history, see that the API takes it, and give its messages."""
    body, _ = sent("anthropic", history, named)

    assert [] == check("anthropic", body, named)
    found: list[dict[str, Any]] = body["messages"]
    return found


def first(*blocks: Any, named: str | None = RECENT) -> list[dict[str, Any]]:
    """Give what becomes of the assistant's blocks."""
    content: list[dict[str, Any]] = messages("Hi", model(*blocks), "Bye", named=named)[1]["content"]
    return content


def test_a_tool_loop() -> None:
    """One message a turn, the results first; a failed one says so."""
    assert [
        {"role": "user", "content": [text("Hi")]},
        {
            "role": "assistant",
            "content": [text("Look"), {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True},
                text("Well?"),
            ],
        },
    ] == messages("Hi", model("Look", call(arguments='{"a": 1}')), tool(result("c1", "no", is_error=True)), "Well?")


def test_thinking_goes_back_to_its_family() -> None:
    """Verbatim, and to nobody else; unsigned or of an unknown maker it is left out."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}

    assert [thought, text("OK")] == first(thinking(), "OK")
    assert [thought, text("OK")] == first(thinking(model=f"{RECENT}-20260101"), "OK")
    assert [{"type": "redacted_thinking", "data": "AAAA"}, text("OK")] == first(HIDDEN, "OK")
    assert [text("OK")] == first(thinking(model=OLD), "OK")
    assert [text("OK")] == first(thinking(provider="gemini"), "OK")
    assert [text("OK")] == first(thinking(provider=None), "OK")
    assert [text("OK")] == first(thinking(signature=None), "OK")


@pytest.mark.parametrize("other", ["openai-chat", "gemini"])
def test_nobody_else_gets_it(other: str) -> None:
    """What Anthropic signed or hid is in no other provider's body."""
    body, _ = sent(other, ["Hi", model(thinking("SECRET"), {**HIDDEN, "data": "SECRET"}, "OK"), "Bye"])

    assert "SECRET" not in str(body)


def test_media() -> None:
    """Images and PDFs from the user, in results too, but for failed ones; what it cannot read is left out."""
    url = {"type": "media", "mime_type": "image/tiff", "url": "https://example.org/a"}
    named = {**PDF, "name": "A", "provider_metadata": {"provider": "anthropic", "context": "C"}}
    history = [
        user(IMAGE, named, SOUND, url),
        model(IMAGE, call("a"), call("b")),
        tool(result("a", [IMAGE, text("x")]), result("b", [IMAGE, text("x")], is_error=True)),
    ]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    asked, said, answered = messages(*history)

    assert [image, "document", "url"] == [
        asked["content"][0],
        asked["content"][1]["type"],
        asked["content"][2]["source"]["type"],
    ]
    assert ["A", "C"] == [asked["content"][1]["title"], asked["content"][1]["context"]]
    assert ["tool_use", "tool_use"] == [block["type"] for block in said["content"]]
    assert [[image, text("x")], [text("x")]] == [block["content"] for block in answered["content"]]


def test_own_blocks_come_back() -> None:
    """Where they may stand: in a user's words, in the assistant's, in a result."""
    stored = '{"type":"document","source":{"type":"file","file_id":"f"}}'
    listed = '{"type":"mcp_tool_listing","mcp_server_name":"m","tools":[]}'
    reference = '{"type":"tool_reference","tool_name":"look"}'
    history = messages(
        user(opaque(stored), opaque(reference), opaque(listed)),
        model(opaque(stored), opaque(listed), "x", call()),
        tool(result("c1", [opaque(reference), opaque(stored), opaque(listed)])),
    )

    assert [["document", "mcp_tool_listing"], ["mcp_tool_listing", "text", "tool_use"]] == [
        [block["type"] for block in message["content"]] for message in history[:2]
    ]
    assert ["tool_reference", "document"] == [block["type"] for block in history[2]["content"][0]["content"]]


@pytest.mark.parametrize("data", ["[]", "{}", '{"type":1}', '{"type":"tool_use"}', '{"type":"image"}', '{"x":1e999}'])
def test_what_is_none_of_its_blocks(data: str) -> None:
    """Nobody can check all of a foreign block, but what it is and must have."""
    assert [text("OK")] == first(opaque(data), "OK")


def test_cache_marks() -> None:
    """The first four stay, wherever they stand; further ones are left out and reported."""
    marked = text("Hi", provider_metadata=MARKED)
    body, report = sent(
        "anthropic",
        [
            user(marked),
            model(call(provider_metadata=MARKED)),
            tool(result("c1", [marked], provider_metadata=MARKED)),
            user(marked),
            user(opaque('{"type":"container_upload","file_id":"f","cache_control":{"type":"ephemeral"}}')),
        ],
    )

    assert 4 == str(body).count("ephemeral")
    assert [] == check("anthropic", body)
    assert ["dropped", "dropped"] == [change.action for change in report if "cache" in change.why]


@pytest.mark.parametrize(
    ("left", "extra"),
    [
        (4, {}),
        (3, {"cache_control": MARK}),
        (2, {"tools": [{"name": "a", "cache_control": MARK}, {"name": "b", "cache_control": MARK}, 1]}),
        (4, {"tools": 1}),
    ],
)
def test_marks_beside_the_history_count(left: int, extra: dict[str, Any]) -> None:
    """Those of tools, of the prompt, and the one at the top."""
    marked = [user(text(str(number), provider_metadata=MARKED)) for number in range(5)]
    body, _ = sent("anthropic", marked, None, extra)

    assert left == str(body["messages"]).count("ephemeral")


def test_mark_of_a_made_up_result() -> None:
    """There is none to set."""
    assert "is_error" in messages("Hi", model(call()))[2]["content"][0]


def test_system_messages() -> None:
    """On recent models, after the user has spoken; elsewhere they are the user's, reported."""
    told = user("Be brief", role="system", provider="anthropic", clear_at="end")
    change = user(opaque('{"type":"tool_addition","tool":{"type":"tool_reference","name":"x"}}'), role="system")

    assert ["user", "system"] == [message["role"] for message in messages("Hi", told)]
    assert "end" == messages("Hi", told)[1]["clear_at"]
    assert ["user", "assistant", "user", "system"] == [
        message["role"] for message in messages("Hi", model(call()), tool(result()), told, change)
    ]
    for history, named in (((told,), RECENT), (("Hi", told), OLD), ((told, "Hi"), RECENT), (("Hi", told), None)):
        assert {"user"} == {message["role"] for message in messages(*history, named=named)}
    assert [{"role": "user", "content": [text("(empty)")]}] == messages(change)
    assert [{"role": "user", "content": [text("Hi")]}] == messages("Hi", change, named=OLD)
    assert ["user"] == [message["role"] for message in messages("Hi", user(IMAGE, role="system"))]


def test_the_prompt() -> None:
    """A text; loaded from blocks it is these."""
    body, _ = sent("anthropic", [{"role": "system", "content": "Be brief"}, "Hi"])

    assert "Be brief" == body["system"]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"tools": [{"name": "a.b"}, {"type": "x"}, 1]}, True),
        ({"tools": {"name": "a.b"}}, False),
        ({"tool_choice": {"type": "tool", "name": "a.b"}}, True),
        ({"tool_choice": "auto"}, False),
    ],
)
def test_names_of_tools(extra: dict[str, Any], expected: bool) -> None:
    """They are renamed wherever they stand; what has another form goes as it is."""
    body, _ = sent("anthropic", ["Hi"], None, extra)

    assert expected == ("a_b_" in str(body))


@pytest.mark.parametrize("named", ["claude-3-5-sonnet", "claude-opus-4", "claude-fable-5", "somebody-else"])
def test_versions(named: str) -> None:
    """System messages are sent where the version is known to take them."""
    told = user("Be brief", role="system")

    assert (named == "claude-fable-5") == ("system" in [found["role"] for found in messages("Hi", told, named=named)])


@pytest.mark.parametrize("blank", [" ", "\n", " \t\n"])
def test_a_blank_result(blank: str) -> None:
    """It is as empty as one of blank blocks, and reported like it."""
    for content in (blank, [text(blank)]):
        body, report = sent("anthropic", ["Hi", model(call()), tool(result("c1", content))])

        assert "" == body["messages"][2]["content"][0]["content"]
        assert ["in the result: a blank text"] == [change.why for change in report]


@pytest.mark.parametrize("content", ["", " ", [text("\n")], [SOUND]])
def test_a_failed_result_that_says_nothing(content: Any) -> None:
    """An empty one that failed is refused; a placeholder stands in it, and the report says so."""
    body, report = sent("anthropic", ["Hi", model(call()), tool(result("c1", content, is_error=True))])

    assert PLACEHOLDER == body["messages"][2]["content"][0]["content"]
    assert ("synthesized", "a failed result cannot be empty") == report[-1][2:]
