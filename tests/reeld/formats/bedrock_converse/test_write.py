"""Conversations written for Converse."""

from typing import Any

import pytest

from reel.base.errors import InvalidParams
from tests.formats.cases.bedrock_converse import CLAUDE, LLAMA, LOOK, NOVA
from tests.formats.checker import check
from tests.reeld.formats.histories import IMAGE, Json, call, model, opaque, result, text, thinking, tool, user
from tests.reeld.formats.sending import sent

TOOLS: Json = {"toolConfig": {"tools": [LOOK]}}
PDF = {"type": "media", "mime_type": "application/pdf", "data_base64": "AAAA"}
LOOP = (user("Hi"), model(call()), tool(result()))


def rendered(*history: Any, by: str | None = CLAUDE, extra: Json | None = None) -> Json:
    """Render a history, check the body, and return it."""
    body, _ = sent("bedrock-converse", history, by, TOOLS if extra is None else extra)

    assert [] == check("bedrock_converse", body, by)
    return body


def messages(*history: Any, by: str | None = CLAUDE) -> list[Json]:
    """Return the messages of a body."""
    found: list[Json] = rendered(*history, by=by)["messages"]
    return found


def why(*history: Any, by: str | None = CLAUDE, extra: Json | None = None) -> list[tuple[str, str]]:
    """Render a history, and return what is reported: action and reason."""
    _, report = sent("bedrock-converse", history, by, TOOLS if extra is None else extra)
    return [(change.action, change.why) for change in report]


def own(words: str, **metadata: Any) -> Json:
    """Return a text of Bedrock's."""
    return text(words, provider_metadata={"provider": "bedrock", **metadata})


def test_a_tool_loop() -> None:
    """Every block has one key, arguments are an object, the model is in the URL."""
    body = rendered({"role": "system", "content": "Be brief"}, user("Hi"), model("Look.", call()), tool(result()))

    assert {
        "toolConfig": {"tools": [LOOK]},
        "system": [{"text": "Be brief"}],
        "messages": [
            {"role": "user", "content": [{"text": "Hi"}]},
            {
                "role": "assistant",
                "content": [{"text": "Look."}, {"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}],
            },
            {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "done"}]}}]},
        ],
    } == body


@pytest.mark.parametrize(
    ("by", "roles"), [(CLAUDE, ["user"]), (NOVA, ["user", "assistant", "user"]), (None, ["user", "assistant", "user"])]
)
def test_words_after_results(by: str | None, roles: list[str]) -> None:
    """Not every model takes them in one message; then the model speaks between (rule B2)."""
    history = (*LOOP, user("And?"))

    assert roles == [message["role"] for message in messages(*history, by=by)[2:]]
    assert (len(roles) > 1) == ("synthesized" in dict(why(*history, by=by)))


def test_words_before_calls() -> None:
    """The models of Meta and Mistral refuse them in one message; then the user speaks between (rule B2)."""
    history = (user("Hi"), model("Look.", call("a"), call("b")), tool(result("a"), result("b")))
    _, said, between, asked, _ = messages(*history, by=LLAMA)

    assert [{"text": "Look."}] == said["content"]
    assert {"role": "user", "content": [{"text": "(go on)"}]} == between
    assert ["a", "b"] == [block["toolUse"]["toolUseId"] for block in asked["content"]]
    assert ("synthesized", "the user must speak between the model's words and its calls") in why(*history, by=LLAMA)
    assert 3 == len(messages(*LOOP, by=LLAMA))


def test_reasoning_before_calls() -> None:
    """It cannot be a message, nor end one, where the calls are in another (rules B2 and B8)."""
    thought = {"type": "thinking", "text": "hm", "signature": "c2ln", "provider": "bedrock"}
    report = ("dropped", "a message cannot end in reasoning, and this model's calls have their own")
    alone = (user("Hi"), model(thought, call("a")), tool(result("a")))
    beside = (user("Hi"), model("Look.", thought, call("a")), tool(result("a")))

    assert [["text"], ["toolUse"], ["toolResult"]] == [
        [key for block in message["content"] for key in block] for message in messages(*alone, by=LLAMA)
    ]
    assert [{"text": "Look."}] == messages(*beside, by=LLAMA)[1]["content"]
    assert report in why(*alone, by=LLAMA)
    assert report in why(*beside, by=LLAMA)


def test_a_body_with_calls_declares_a_tool() -> None:
    """Without one of the caller's, one that does nothing is declared, and reported (rule B7)."""
    body = rendered(*LOOP, extra={})

    assert ["no_tool"] == [each["toolSpec"]["name"] for each in body["toolConfig"]["tools"]]
    assert [
        ("synthesized", "toolConfig: Bedrock requires a tool beside calls; one that does nothing is declared")
    ] == why(*LOOP, extra={})
    assert "toolConfig" not in rendered(user("Hi"), extra={})


def test_tools_are_renamed() -> None:
    """So is the one that must be called; the model is not part of the body."""
    tools = [{"toolSpec": {"name": "a.b"}}, {"systemTool": {"name": "nova_grounding"}}, "x"]
    extra = {"model": CLAUDE, "toolConfig": {"tools": tools, "toolChoice": {"tool": {"name": "a.b"}}}}
    body, _ = sent("bedrock-converse", [user("Hi"), model(call(name="a.b")), tool(result())], CLAUDE, extra)

    name = body["messages"][1]["content"][0]["toolUse"]["name"]
    assert [{"toolSpec": {"name": name}}, *tools[1:]] == body["toolConfig"]["tools"]
    assert {"tool": {"name": name}} == body["toolConfig"]["toolChoice"]
    assert "model" not in body


@pytest.mark.parametrize("config", [1, {"tools": 1}])
def test_what_the_caller_says_of_tools_goes_out_as_it_is(config: Any) -> None:
    """Only names are renamed."""
    assert config == sent("bedrock-converse", [user("Hi")], CLAUDE, {"toolConfig": config})[0]["toolConfig"]


def test_the_status_of_a_result() -> None:
    """Claude and Nova take it; for others the text says that it failed (rule B5)."""
    history = (user("Hi"), model(call()), tool(result(content="no tape", is_error=True)))
    flagged, said = (messages(*history, by=by)[2]["content"][0]["toolResult"] for by in (NOVA, LLAMA))

    assert ("error", [{"text": "no tape"}]) == (flagged["status"], flagged["content"])
    assert ("status" not in said, [{"text": "Error: no tape"}]) == (True, said["content"])


def test_an_empty_result() -> None:
    """Some models refuse it, so it has a placeholder (rule B5)."""
    history = (user("Hi"), model(call()), tool(result(content=" ")))

    assert [{"text": "(empty)"}] == messages(*history)[2]["content"][0]["toolResult"]["content"]
    assert ("synthesized", "a result cannot be empty") in why(*history)


def test_pictures_in_a_result() -> None:
    """They stay there for Claude and Nova; for others they follow as the user's (rule B5)."""
    history = (user("Hi"), model(call()), tool(result(content=[text("x"), IMAGE])))
    *_, last = messages(*history)
    *_, answered, noted, shown = messages(*history, by=LLAMA)

    assert ["text", "image"] == [next(iter(part)) for part in last["content"][0]["toolResult"]["content"]]
    assert [["toolResult"], ["text"], ["text", "image"]] == [
        [next(iter(block)) for block in message["content"]] for message in (answered, noted, shown)
    ]


def test_an_object_in_a_result_goes_back_as_one() -> None:
    """If it is one; what others made of it is a text."""
    json = {"provider": "bedrock", "json": True}
    content = [text('{"a":1}', provider_metadata=json), text("[1]", provider_metadata=json), text("x")]
    answered = messages(user("Hi"), model(call()), tool(result(content=content)))[2]["content"][0]["toolResult"]

    assert [{"json": {"a": 1}}, {"text": "[1]"}, {"text": "x"}] == answered["content"]


def test_documents_have_names_of_their_own() -> None:
    """Neutral ones, no two alike in one request, however the history grows (rule B6)."""
    first = user({**PDF, "name": "My_tape.v1.pdf"}, {**PDF, "name": "MY tape v1"}, "Well?")
    said = messages(first, model("OK"), user(PDF, PDF, {**PDF, "name": ".pdf"}, "So?"))

    assert ["My tape v1", "MY tape v1 2", "document", "document 2", "pdf"] == [
        block["document"]["name"] for message in said for block in message["content"] if "document" in block
    ]


def test_a_document_needs_a_text() -> None:
    """One is added beside it (rule B6)."""
    assert {"text": "(attached)"} == messages(user(PDF))[0]["content"][-1]
    assert [("synthesized", "a message with documents must have a text")] == why(user(PDF))


def test_files_in_s3() -> None:
    """Bedrock reads them itself."""
    (said,) = messages(user({"type": "media", "mime_type": "image/png", "url": "s3://tapes/a.png"}))

    assert {"s3Location": {"uri": "s3://tapes/a.png"}} == said["content"][0]["image"]["source"]


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ({**IMAGE, "mime_type": "image/heic"}, "media of type image/heic"),
        ({**IMAGE, "mime_type": "audio/wav"}, "media of type audio/wav"),
        ({**IMAGE, "mime_type": "video/mp4"}, "media of type video/mp4; only Nova reads it"),
        ({**IMAGE, "data_base64": "AAA"}, "media that are not base64"),
        ({"type": "media", "mime_type": "image/png", "url": "https://example.org/a.png"}, "media by URL; "),
        (opaque("{}", "bedrock"), "an opaque block that Bedrock does not accept"),
        (opaque('{"image":1}', "bedrock"), "an opaque block that Bedrock does not accept"),
        (opaque('{"document":{"name":"a","source":{"text":"x"},"context":1}}', "bedrock"), "an opaque block"),
        (opaque('{"image":{"format":"bmp","source":{"bytes":"AAAA"}}}', "bedrock"), "an opaque block"),
        (opaque('{"image":{"format":"png","source":{"bytes":"AAA"}}}', "bedrock"), "an opaque block"),
        (opaque('{"image":{"format":"png","source":{"url":"x"}}}', "bedrock"), "an opaque block"),
        (
            opaque('{"toolUse":{"toolUseId":"s1","name":"x","input":{},"type":"y"}}', "bedrock"),
            "toolUse is not allowed",
        ),
    ],
)
def test_what_a_model_cannot_read_is_left_out(block: Json, reason: str) -> None:
    """The report says why (rules B3 and B6)."""
    ((action, told),) = why(user("Hi", block))

    assert "dropped" == action
    assert told.startswith(reason)


def test_what_came_from_bedrock_goes_back() -> None:
    """Sound and video too, whatever the model; a block that is kept whole has no other keys."""
    sound = {**IMAGE, "mime_type": "audio/wav", "provider_metadata": {"provider": "bedrock"}}
    whole = opaque('{"document":{"name":"a.b","source":{"text":"x"},"new":1}}', "bedrock")
    search = opaque('{"searchResult":{"source":"x","title":"y","content":[{"text":"z"}]}}', "bedrock")
    (said,) = messages(user("Hi", sound, {**IMAGE, "mime_type": "video/mp4"}, whole, search), by=NOVA)

    assert {"document": {"name": "a", "source": {"text": "x"}}} == said["content"][3]
    assert ["text", "audio", "video", "document", "searchResult"] == [next(iter(block)) for block in said["content"]]


def test_reasoning_goes_back_to_its_model() -> None:
    """It is signed, or hidden (rule B8); that of another model, or of another API, is left out."""
    thought = thinking("hm", "c2ln", "bedrock", model="anthropic.claude-sonnet-4-5-20250929-v1:0")
    hidden = {"type": "redacted_thinking", "data": "dGFwZQ==", "provider": "bedrock"}
    said = messages(user("Hi"), model(thought, hidden, thinking(provider="p"), "OK"), user("So?"))[1]["content"]

    assert {"reasoningText": {"text": "hm", "signature": "c2ln"}} == said[0]["reasoningContent"]
    assert {"redactedContent": "dGFwZQ=="} == said[1]["reasoningContent"]
    assert {"text": "OK"} == said[2]
    assert {"text": "OK"} == messages(user("Hi"), model(thought, "OK"), user("So?"), by=NOVA)[1]["content"][0]


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (thinking("hm", None, "bedrock"), "thinking without a signature"),
        ({"type": "redacted_thinking", "data": "?", "provider": "bedrock"}, "redacted thinking that is not base64"),
        (IMAGE, "media from the assistant"),
    ],
)
def test_what_the_assistant_cannot_say_again(block: Json, reason: str) -> None:
    """Models refuse reasoning of their own without a signature (rule B8)."""
    assert [("dropped", reason)] == why(user("Hi"), model(block, "OK"), user("So?"))


def test_media_in_a_failed_result_follow() -> None:
    """It is only text."""
    history = (user("Hi"), model(call()), tool(result(content=[text("x"), IMAGE], is_error=True)))

    assert ["toolResult", "text", "image"] == [next(iter(block)) for block in messages(*history)[2]["content"]]


def test_citations_go_back_to_the_model_that_made_them() -> None:
    """Others get the text."""
    cited = own("wet", citations=[{"title": "Tapes"}], model=CLAUDE)
    mine, other = (messages(user("Hi"), model(cited), user("So?"), by=by)[1]["content"][0] for by in (CLAUDE, NOVA))

    assert {"citationsContent": {"content": [{"text": "wet"}], "citations": [{"title": "Tapes"}]}} == mine
    assert {"text": "wet"} == other


def test_what_a_guardrail_looks_at() -> None:
    """A text of the user's that was marked so is marked again."""
    (said,) = messages(user(own("x", guard=["query"]), own("y", guard=True)))

    assert [
        {"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}},
        {"guardContent": {"text": {"text": "y"}}},
    ] == said["content"]


def test_instructions_in_mid_history() -> None:
    """They are the user's."""
    assert [("downgraded", "a system message is sent as the user's")] == why(user("Be brief", role="system"))


def test_both_halves_of_a_servers_tool() -> None:
    """They are sent together, and need a declared tool (rules X9 and B7)."""
    asked = opaque('{"toolUse":{"toolUseId":"s1","name":"x","input":{},"type":"server_tool_use"}}', "bedrock")
    answered = opaque('{"toolResult":{"toolUseId":"s1","content":[{"text":"z"}],"type":"x"}}', "bedrock")
    body = rendered(user("Hi"), model(asked, answered, "OK"), user("So?"), extra={})

    assert ["toolUse", "toolResult", "text"] == [next(iter(block)) for block in body["messages"][1]["content"]]
    assert "toolConfig" in body
    assert "dropped" in dict(why(user("Hi"), model(asked, "OK"), user("So?")))


@pytest.mark.parametrize("content", ["1", "[1]", '[{"a":1,"b":2}]', '[{"text":" "}]', '[{"json":1}]', '[{"new":{}}]'])
def test_a_damaged_result_of_a_servers_tool(content: str) -> None:
    """It is left out."""
    damaged = opaque(f'{{"toolResult":{{"toolUseId":"s1","content":{content},"type":"x"}}}}', "bedrock")

    assert ("dropped", "an opaque block that Bedrock does not accept") in why(
        user("Hi"), model(damaged, "OK"), user("?")
    )


def test_thinking_in_the_middle_of_a_loop() -> None:
    """It cannot be enabled there; adaptive can (rule B8)."""
    enabled, adaptive = (
        {**TOOLS, "additionalModelRequestFields": {"thinking": {"type": kind}}} for kind in ("enabled", "adaptive")
    )
    rendered(*LOOP, extra=adaptive)
    rendered(user("Hi"), extra={**TOOLS, "additionalModelRequestFields": 1})

    with pytest.raises(InvalidParams, match="middle of a tool loop"):
        sent("bedrock-converse", LOOP, CLAUDE, enabled)
