"""Conversations written for Chat Completions."""

import json
from typing import Any

import pytest

from reel import text, tool_call, tool_result
from reeld.formats.openai_chat.read import read_request
from tests.formats.checker import check
from tests.reeld.formats.sending import sent

ASK = text("user", "hi")
PNG = {"type": "media", "mime_type": "image/png", "data_base64": "QUJD"}
CUSTOM = {"provider": "openai", "type": "custom_tool_call"}
CHAT = {"provider": "openai", "format": "openai-chat"}


def said(who: str, *blocks: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return a message of some blocks."""
    return {"role": who, "content": list(blocks), "provider_metadata": metadata}


def words(value: str, **metadata: Any) -> dict[str, Any]:
    """Return a text block."""
    return {"type": "text", "text": value, "provider_metadata": metadata}


def opaque(data: str, **keys: Any) -> dict[str, Any]:
    """Return an opaque block of OpenAI's."""
    return {"type": "opaque", "provider": "openai", "data_json": data, **keys}


def messages(*history: Any, model: str | None = "gpt-5") -> list[dict[str, Any]]:
    """Render a history, check the body, and return its messages."""
    body, _ = sent("openai-chat", history, model)

    assert [] == check("openai_chat", body)
    found: list[dict[str, Any]] = body["messages"]
    return found


def why(*history: Any, model: str | None = "gpt-5") -> list[tuple[int | None, str, str]]:
    """Render a history, and return what is reported: seq, action and reason."""
    _, report = sent("openai-chat", history, model)
    return [(change.seq, change.action, change.why) for change in report]


def test_results_directly_follow_the_message_with_their_calls() -> None:
    """Texts are strings, and the calls of a turn are in one message."""
    history = messages(
        text("system", "be brief"),
        ASK,
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "tool_call", "id": "a", "name": "ls", "arguments": "{}"},
                {"type": "tool_call", "id": "b", "name": "ls", "arguments": '{"d": 1}'},
            ],
        },
        tool_result("b", "2"),
        tool_result("a", "1"),
        text("assistant", "two"),
    )

    assert [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "look",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "ls", "arguments": '{"d": 1}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "assistant", "content": "two"},
    ] == history


def test_neighbours_of_one_role_stay_apart() -> None:
    """This API does not require turns, so no messages are merged."""
    assert ["user", "user", "assistant", "assistant"] == [
        message["role"] for message in messages(ASK, ASK, text("assistant", "a"), text("assistant", "b"))
    ]


def test_calls_of_neighbouring_messages_are_in_the_last_one() -> None:
    """Their results must follow the message that has the calls."""
    history = messages(
        ASK, tool_call("a", "ls", "{}"), text("assistant", "and"), tool_call("b", "ls", ""), tool_result("a", "1")
    )

    assert [("assistant", "and", 0), ("assistant", None, 2)] == [
        (message["role"], message["content"], len(message.get("tool_calls", []))) for message in history[1:3]
    ]
    assert ["a", "b"] == [message["tool_call_id"] for message in history[3:]]


def test_a_custom_call_of_chat_goes_back_with_its_text() -> None:
    """A custom tool gets its input, also if the arguments are no longer the object that has it."""
    call = {"type": "tool_call", "id": "a", "name": "sql", "provider_metadata": CUSTOM}
    history = messages(
        ASK,
        said("assistant", {**call, "arguments": '{"input": "SELECT"}'}, {**call, "id": "b", "arguments": "DROP"}),
    )

    assert ["SELECT", "DROP"] == [call["custom"]["input"] for call in history[1]["tool_calls"]]


def test_refusals_go_back_beside_the_content() -> None:
    """The API accepts no parts of both kinds in one message."""
    refused = words("no", provider="openai", refusal=True)
    history = messages(said("assistant", words("well"), refused), ASK, said("assistant", refused, refused))

    assert [("well", "no"), (None, "no\nno")] == [(history[n]["content"], history[n]["refusal"]) for n in (0, 2)]


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (PNG, {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}),
        (
            {"type": "media", "mime_type": "image/*", "url": "https://x/y"},
            {"type": "image_url", "image_url": {"url": "https://x/y"}},
        ),
        (
            {**PNG, "provider_metadata": {"provider": "openai", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "detail": "low"}},
        ),
        (
            {**PNG, "provider_metadata": {"provider": "openai", "detail": "bad"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        ),
        (
            {"type": "media", "mime_type": "application/pdf", "data_base64": "QUJD", "name": "a.pdf"},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}},
        ),
        (
            opaque('{"type":"file","file":{"file_id":"file-1"}}', provider_metadata=CHAT),
            {"type": "file", "file": {"file_id": "file-1"}},
        ),
        (
            words("x", provider="openai", prompt_cache_breakpoint={"mode": "explicit"}),
            {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}},
        ),
    ],
)
def test_user_media_and_cache_breakpoints_become_parts(block: dict[str, Any], part: dict[str, Any]) -> None:
    """Images, files and breakpoints are content parts."""
    assert [{"role": "user", "content": [part]}] == messages(said("user", block))


def test_a_file_that_was_kept_whole_has_the_keys_that_the_api_knows() -> None:
    """Others are refused (rule C3)."""
    file = {"file_id": "file-1", "filename": "a.pdf", "data": "x"}
    kept = opaque(json.dumps({"type": "file", "file": file}), provider_metadata=CHAT)
    body, _ = sent("openai-chat", [said("user", words("See"), kept)], "gpt-4o")

    assert {"file_id": "file-1", "filename": "a.pdf"} == body["messages"][0]["content"][1]["file"]


def test_sound_is_sent_to_audio_models_only() -> None:
    """It is left out for others, and reported."""
    sound = {"type": "media", "mime_type": "audio/mpeg", "data_base64": "QUJD"}
    part = {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}}

    assert [part] == messages(said("user", sound), model="gpt-4o-audio-preview")[0]["content"]
    assert [part] == messages(said("user", sound), model=None)[0]["content"]
    assert (1, "dropped", "sound; gpt-5 does not accept it") in why(said("user", sound, words("x")))


@pytest.mark.parametrize(
    ("role", "block", "reason"),
    [
        (
            "user",
            {"type": "media", "mime_type": "audio/wav", "url": "x"},
            "sound by URL; Chat Completions accepts only its bytes",
        ),
        (
            "user",
            {"type": "media", "mime_type": "application/pdf", "url": "x"},
            "a file by URL; Chat Completions accepts only its bytes",
        ),
        ("user", {"type": "media", "mime_type": "image/tiff", "data_base64": "QUJD"}, "media of type image/tiff"),
        ("user", opaque("{}"), "an opaque block of Responses"),
        (
            "user",
            opaque('{"type":"x"}', provider_metadata=CHAT),
            "an opaque block that Chat Completions does not accept",
        ),
        (
            "user",
            {"type": "opaque", "provider": "gemini", "data_json": "{}"},
            "an opaque block of gemini",
        ),
        (
            "assistant",
            opaque('{"audio":{}}', provider_metadata=CHAT),
            "an opaque block that Chat Completions does not accept",
        ),
        ("assistant", PNG, "media from the assistant"),
        (
            "assistant",
            {"type": "thinking", "text": "hm", "provider": "openai"},
            "Chat Completions does not accept reasoning",
        ),
        ("assistant", {"type": "thinking", "text": "hm", "provider": "gemini"}, "thinking of gemini"),
        ("assistant", {"type": "redacted_thinking", "data": "x"}, "thinking of an unknown provider"),
    ],
)
def test_blocks_that_chat_does_not_accept_are_left_out(role: str, block: dict[str, Any], reason: str) -> None:
    """They are reported, and the rest of the message stays."""
    assert [{"role": role, "content": "x"}] == messages(said(role, block, words("x")))
    assert [(1, "dropped", reason)] == why(said(role, block, words("x")))


def test_spoken_audio_goes_back_by_its_id() -> None:
    """A spoken answer goes back as the id of its audio."""
    sound = opaque('{"audio":{"id":"audio_1"}}', provider_metadata=CHAT)

    assert [{"role": "assistant", "content": None, "audio": {"id": "audio_1"}}] == messages(said("assistant", sound))


def test_media_of_results_follow_in_a_user_message() -> None:
    """Only the user may send media, so they follow all results of the turn."""
    results = [{"type": "text", "text": "see"}, PNG]
    history = messages(
        said(
            "assistant",
            {"type": "tool_call", "id": "a", "name": "shot", "arguments": "{}"},
            {"type": "tool_call", "id": "b", "name": "ls", "arguments": "{}"},
        ),
        tool_result("a", results),  # type: ignore[arg-type]
        tool_result("b", [PNG]),  # type: ignore[list-item]
        ASK,
    )

    assert [("tool", "see"), ("tool", "")] == [(message["role"], message["content"]) for message in history[1:3]]
    assert ["Media of the result of shot (a):", None, "Media of the result of ls (b):", None] == [
        part.get("text") for part in history[3]["content"]
    ]
    assert {"role": "user", "content": "hi"} == history[4]


def test_chat_names_and_roles_go_back() -> None:
    """A name goes back to its own provider; a role is sent whichever API it came from."""
    history = messages(
        ASK,
        said("user", words("now"), provider="openai", role="developer"),
        said("user", words("x"), provider="openai", name="ada"),
        said("assistant", words("y"), provider="openai", name="bob"),
        said("user", words("z"), provider="openai", name="a b"),
        said("user", words("z"), provider="openai", role="king"),
        said("user", words("z"), provider="anthropic", role="system", name="eve"),
        said("user", words("z"), role="developer"),
    )

    assert [
        ("user", None),
        ("developer", None),
        ("user", "ada"),
        ("assistant", "bob"),
        ("user", None),
        ("user", None),
        ("system", None),
        ("developer", None),
    ] == [(message["role"], message.get("name")) for message in history]


def test_an_invalid_speaker_name_is_left_out() -> None:
    """It is reported."""
    assert [(1, "dropped", "the name 'a b': the API does not accept it")] == why(
        said("user", words("z"), provider="openai", name="a b")
    )


@pytest.mark.parametrize("model", ["o1-mini", "gpt-5"])
def test_instructions_that_chat_refuses_are_sent_as_the_users(model: str) -> None:
    """The first o1 models have no such role, and an instruction contains only text."""
    above = said("user", words("now"), *([PNG] if model == "gpt-5" else []), provider="openai", role="system")

    assert ["user", "user"] == [message["role"] for message in messages(ASK, above, model=model)]
    assert [(2, "downgraded", "a system message is sent as the user's")] == why(ASK, above, model=model)


def test_the_first_o1_models_get_the_prompt_from_the_user() -> None:
    """They refuse the role system."""
    assert "user" == messages(text("system", "be brief"), ASK, model="o1-mini")[0]["role"]


def test_a_chat_prompt_of_several_messages_goes_back() -> None:
    """The prompt is sent as the messages that it was loaded from."""
    given = [
        {"role": "system", "content": "a", "name": "boss"},
        {"role": "developer", "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}]},
        {"role": "user", "content": "hi"},
    ]

    assert given == messages(*read_request({"messages": given}).messages)


def test_chat_tools_are_renamed_in_extra() -> None:
    """A tool that is called under another name is offered and chosen under it."""
    tool = {"type": "function", "function": {"name": "my ls", "parameters": {}}}
    chosen = {"type": "function", "function": {"name": "my ls"}}
    extra = {
        "tools": [tool, {"type": "custom", "custom": {"name": "my sql"}}, 5],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [chosen]}},
        "functions": [{"name": "my ls"}],
        "function_call": "auto",
    }
    body, _ = sent("openai-chat", [ASK, tool_call("a", "my ls", "{}")], "gpt-5", extra)
    name = body["messages"][1]["tool_calls"][0]["function"]["name"]

    assert name != "my ls"
    assert name == body["tools"][0]["function"]["name"] == body["functions"][0]["name"]
    assert name == body["tool_choice"]["allowed_tools"]["tools"][0]["function"]["name"]
    assert "my sql" != body["tools"][1]["custom"]["name"]
    assert (5, "auto") == (body["tools"][2], body["function_call"])
