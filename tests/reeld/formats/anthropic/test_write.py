"""Conversations written for Anthropic Messages."""

import json
from typing import Any

import pytest

from reeld.formats.anthropic.read import read_response
from reeld.formats.body import RenderRequest
from reeld.formats.model import PLACEHOLDER
from reeld.formats.render import render
from tests.formats.checker import check
from tests.reeld.formats.histories import (
    IMAGE,
    PDF,
    SOUND,
    call,
    entries_of,
    model,
    opaque,
    result,
    text,
    thinking,
    tool,
    user,
)
from tests.reeld.formats.sending import sent

MARK = {"type": "ephemeral"}
MARKED = {"provider": "anthropic", "cache_control": MARK}
HIDDEN = {"type": "redacted_thinking", "data": "AAAA", "provider": "anthropic"}
BETAS = {"betas": ["mcp-client-2026-09-15", "files-api-2025-04-14"]}
RECENT, OLD = "claude-opus-4-8", "claude-haiku-4-5"


def messages(*history: Any, named: str | None = RECENT) -> list[dict[str, Any]]:
    """Render a history, check the body, and return its messages."""
    body, _ = sent("anthropic", history, named, BETAS)

    assert [] == check("anthropic", body, named)
    found: list[dict[str, Any]] = body["messages"]
    return found


def first(*blocks: Any, named: str | None = RECENT) -> list[dict[str, Any]]:
    """Return what becomes of the assistant's blocks."""
    content: list[dict[str, Any]] = messages("Hi", model(*blocks), "Bye", named=named)[1]["content"]
    return content


def test_a_turn_is_one_message_with_its_results_first() -> None:
    """A tool loop is written as one message a turn; a failed result has its flag."""
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


def test_thinking_goes_back_only_to_its_model_family() -> None:
    """It goes back verbatim; unsigned thinking, and that of an unknown provider, is left out."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}

    assert [thought, text("OK")] == first(thinking(), "OK")
    assert [thought, text("OK")] == first(thinking(model=f"{RECENT}-20260101"), "OK")
    assert [{"type": "redacted_thinking", "data": "AAAA"}, text("OK")] == first(HIDDEN, "OK")
    assert [text("OK")] == first(thinking(model=OLD), "OK")
    assert [text("OK")] == first(thinking(provider="gemini"), "OK")
    assert [text("OK")] == first(thinking(provider=None), "OK")
    assert [text("OK")] == first(thinking(signature=None), "OK")


@pytest.mark.parametrize("other", ["openai-chat", "gemini"])
def test_other_providers_get_no_thinking(other: str) -> None:
    """Thinking that Anthropic signed or redacted is in no other provider's body."""
    body, _ = sent(other, ["Hi", model(thinking("SECRET"), {**HIDDEN, "data": "SECRET"}, "OK"), "Bye"])

    assert "SECRET" not in str(body)


def test_images_and_pdfs_are_sent_from_user_and_results() -> None:
    """Those of a failed result follow as the user's (rule X17), and what Anthropic does not read is left out."""
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
    assert [[image, text("x")], [text("x")]] == [block["content"] for block in answered["content"][:2]]
    assert [text("Media of the result of look (b):"), image] == answered["content"][2:]


def test_opaque_blocks_go_back_where_they_are_allowed() -> None:
    """Opaque blocks go back in the user's messages, the assistant's, and in results."""
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
def test_invalid_opaque_blocks_are_left_out(data: str) -> None:
    """An opaque block without the keys that its type requires is left out."""
    assert [text("OK")] == first(opaque(data), "OK")


def test_four_cache_breakpoints_are_kept() -> None:
    """The newest four stay, wherever they are; older ones are left out and reported."""
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
        extra=BETAS,
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
def test_cache_breakpoints_beside_the_history_count(left: int, extra: dict[str, Any]) -> None:
    """Those of tools, of the prompt and at the top leave fewer for the history."""
    marked = [user(text(str(number), provider_metadata=MARKED)) for number in range(5)]
    body, _ = sent("anthropic", marked, None, extra)

    assert left == str(body["messages"]).count("ephemeral")


def test_a_synthesized_result_has_no_cache_breakpoint() -> None:
    """A synthesized result has no block whose breakpoint could be set."""
    assert "is_error" in messages("Hi", model(call()))[2]["content"][0]


def test_system_messages_need_a_recent_model_and_a_user_turn() -> None:
    """Otherwise their text is the user's, which is reported."""
    told = user("Be brief", role="system", provider="anthropic", clear_at="end")
    change = user(opaque('{"type":"tool_addition","tool":{"type":"tool_reference","name":"x"}}'), role="system")

    assert ["user", "system"] == [message["role"] for message in messages("Hi", told)]
    assert "end" == messages("Hi", told)[1]["clear_at"]
    assert ["user", "assistant", "user", "system"] == [
        message["role"] for message in messages("Hi", model(call()), tool(result()), told, change)
    ]
    for history, named in (((told,), RECENT), (("Hi", told), OLD), ((told, "Hi"), RECENT), (("Hi", told), None)):
        assert {"user"} == {message["role"] for message in messages(*history, named=named)}
    assert [{"role": "user", "content": [text("(empty)")]}] == messages(change, model("OK"), "Hi")[:1]
    assert [{"role": "user", "content": [text("Hi")]}] == messages("Hi", change, named=OLD)
    assert ["user"] == [message["role"] for message in messages("Hi", user(IMAGE, role="system"))]


def test_a_change_of_the_effort_needs_no_words() -> None:
    """A system message is sent for it where one may stand; elsewhere nothing is left of it (rule A10)."""
    effort = user("", role="system", provider="anthropic", output_config_json='{"effort":"low"}')
    worded = user("Be brief", role="system", provider="anthropic", output_config_json='{"effort":"low"}')
    changed = {"role": "system", "output_config": {"effort": "low"}}

    assert [changed] == messages("Hi", effort)[1:]
    assert [{**changed, "content": [text("Be brief")]}] == messages("Hi", worded)[1:]
    for history, named in (((effort, "Hi"), RECENT), (("Hi", effort), OLD), (("Hi", user("", role="system")), RECENT)):
        assert [{"role": "user", "content": [text("Hi")]}] == messages(*history, named=named)


def test_the_system_prompt_is_a_text_or_its_original_blocks() -> None:
    """A prompt that was loaded from blocks goes back as these blocks."""
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
def test_anthropic_tools_are_renamed_in_extra(extra: dict[str, Any], expected: bool) -> None:
    """They are renamed in tools and tool_choice; anything of another shape stays as it is."""
    body, _ = sent("anthropic", ["Hi"], None, extra)

    assert expected == ("a_b_" in str(body))


@pytest.mark.parametrize("named", ["claude-3-5-sonnet", "claude-opus-4", "claude-fable-5", "somebody-else"])
def test_the_version_of_a_claude_model_is_read_from_its_name(named: str) -> None:
    """System messages are sent if the version is known to accept them."""
    told = user("Be brief", role="system")

    assert (named == "claude-fable-5") == ("system" in [found["role"] for found in messages("Hi", told, named=named)])


@pytest.mark.parametrize("blank", [" ", "\n", " \t\n"])
def test_a_blank_result_is_sent_empty(blank: str) -> None:
    """A result of white space is sent as empty, and reported."""
    for content in (blank, [text(blank)]):
        body, report = sent("anthropic", ["Hi", model(call()), tool(result("c1", content))])

        assert "" == body["messages"][2]["content"][0]["content"]
        assert ["in the result: a blank text"] == [change.why for change in report]


@pytest.mark.parametrize("content", ["", " ", [text("\n")], [SOUND]])
def test_an_empty_failed_result_gets_a_placeholder(content: Any) -> None:
    """The API refuses a failed result without text, so it gets a placeholder, which is reported."""
    body, report = sent("anthropic", ["Hi", model(call()), tool(result("c1", content, is_error=True))])

    assert PLACEHOLDER == body["messages"][2]["content"][0]["content"]
    assert ("synthesized", "a failed result cannot be empty") == report[-1][2:]


def boxed(name: str, expires_at: Any = "2030-01-01T00:00:00Z") -> dict[str, Any]:
    """Return an answer whose tools ran in a container."""
    answer = {"content": [text("OK")], "container": {"id": name, "expires_at": expires_at}}
    return read_response(answer, RECENT).message


def container(*history: Any, now: float = 0, **extra: Any) -> tuple[Any, list[str]]:
    """Return the container that a history is sent with, and the reasons in the report."""
    found, _ = render(RenderRequest("anthropic", RECENT, extra, now=now), entries_of(history))
    return json.loads(found.body).get("container"), [change.why for change in found.report]


def test_the_newest_container_is_named_again() -> None:
    """It does not matter whether the answer that names it is settled, or who answered since (rule A14)."""
    assert ("new", []) == container("Hi", boxed("old"), "So?", boxed("new"))
    assert ("new", []) == container("Hi", boxed("old"), "So?", boxed("new"), "And?", model("Yes"), "Bye")
    assert (None, []) == container("Hi", model("OK"), "Bye")


@pytest.mark.parametrize(
    ("own", "sent_as"),
    [
        ("mine", "mine"),
        (None, None),
        ({"id": "mine"}, {"id": "mine"}),
        ({"skills": []}, {"skills": [], "id": "box"}),
        ({}, "box"),
    ],
)
def test_a_container_of_the_callers_own_is_sent(own: Any, sent_as: Any) -> None:
    """Skills alone are sent together with the newest container (rule A14)."""
    assert (sent_as, []) == container("Hi", boxed("box"), "So?", container=own)


@pytest.mark.parametrize(
    ("expires_at", "now", "expired"),
    [
        ("1970-01-01T00:01:00Z", 60, True),
        ("1970-01-01T00:01:00", 60, True),
        ("1970-01-01T01:01:00+01:00", 59, False),
        ("soon", 60, False),
        (5, 60, False),
    ],
)
def test_an_expired_container_is_left_out(expires_at: Any, now: float, expired: bool) -> None:
    """That is reported (rule A14)."""
    name, report = container("Hi", boxed("box", expires_at), "So?", now=now)

    assert expired == (name is None) == (report == [f"the container box expired at {expires_at}"])


@pytest.mark.parametrize("kind", ["char_location", "page_location", "content_block_location"])
def test_citations_go_back_without_the_keys_of_answers(kind: str) -> None:
    """They are in texts, and in the results of a server's tools (rule A16)."""
    cited = {"type": kind, "cited_text": "x", "document_index": 0, "document_title": None}
    said = {"type": "text", "text": "x", "citations": [{**cited, "file_id": None}]}
    used = {"type": "mcp_tool_use", "id": "m1", "name": "n", "server_name": "s", "input": {}}
    found = {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": [said]}
    content = read_response({"content": [said, used, found], "model": RECENT}).message["content"]
    text_sent, _, result_sent = first(*content)

    assert [cited] == text_sent["citations"]
    assert [cited] == result_sent["content"][0]["citations"]


@pytest.mark.parametrize(("reason", "ready"), [("pause_turn", True), ("end_turn", False)])
def test_a_paused_turn_that_ends_in_a_result_is_continued(reason: str, ready: bool) -> None:
    """The answer says whether it was paused (rule A11)."""
    used = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    answer = read_response({"content": [used, found], "stop_reason": reason, "model": RECENT}).message
    rendered, _ = render(RenderRequest("anthropic", RECENT), entries_of(["Hi", answer]))

    assert ready == rendered.ready
