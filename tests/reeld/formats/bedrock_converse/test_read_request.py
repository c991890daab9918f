"""Requests of Converse, loaded."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reeld.formats.bedrock_converse.read import read_request
from reeld.formats.body import RenderRequest
from reeld.formats.fields import LoadedRequest
from reeld.formats.render import render
from tests.formats.cases import bedrock_converse as cases
from tests.formats.cases.bedrock_converse import CLAUDE, HI, POINT, call, document, model, result, text, user
from tests.reeld.formats.histories import Json, entries_of, prompt_in
from tests.reeld.formats.meaning import same
from tests.reeld.formats.sending import sent

CITED = {"citationsContent": {"content": [text("wet")], "citations": [{"title": "Tapes"}]}}
GUARDED = {"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}}


def loaded(*messages: Any, **more: Any) -> LoadedRequest:
    return read_request({"messages": list(messages), **more})


def blocks(*content: Any) -> list[Json]:
    """Return the blocks of one message of the user's."""
    (found,) = loaded(user(*content)).messages
    read: list[Json] = found["content"]
    return read


def test_a_request_keeps_its_meaning() -> None:
    """What is loaded is rendered as it was."""
    body = cases.body(
        user(text("Look:"), document("My tape"), cases.IMAGE, POINT, GUARDED),
        model(cases.SIGNED, cases.HIDDEN, CITED, POINT, call(), cases.call("c2")),
        user(result("c1", {"json": {"a": 1}}, cases.IMAGE), result("c2", status="error"), POINT),
        model(cases.SEARCH, cases.FOUND, text("OK")),
        user({"searchResult": {"source": "x", "title": "y", "content": [text()]}}, text("So?")),
        system=[text("Be brief"), POINT, GUARDED],
    )
    entries = entries_of(read_request(body, CLAUDE).messages)
    found, _ = render(
        RenderRequest("bedrock-converse", CLAUDE, {"toolConfig": body["toolConfig"]}), entries, prompt_in(entries)
    )
    before, after = same("bedrock_converse", body, json.loads(found.body))

    assert before == after


def test_what_is_not_history_is_named() -> None:
    """Tools and parameters are the caller's; a body may name the model as the SDK has it."""
    found = loaded(HI, model(CITED), modelId=CLAUDE, inferenceConfig={})

    assert ["inferenceConfig"] == [change.why.split()[0] for change in found.report]
    assert CLAUDE == found.messages[1]["content"][0]["provider_metadata"]["model"]


def test_texts_as_other_apis_have_them() -> None:
    """A bare text for a block, for a prompt, for content; null members count as absent (rule X12)."""
    found = loaded({"role": "user", "content": "Hi"}, {"role": "model", "content": ["OK"]}, system="Be brief").messages

    assert ["system", "user", "assistant"] == [message["role"] for message in found]
    assert [text("x")["text"]] == [block["text"] for block in blocks({"text": "x", "image": None})]
    assert [] == [message for message in loaded(HI, system=[]).messages if message["role"] == "system"]


def test_instructions_among_the_messages() -> None:
    """Those that lead are the prompt; later ones are the user's, with their role (rule X13)."""
    leading, _, later = loaded({"role": "system", "content": "A"}, HI, {"role": "system", "content": "B"}).messages

    assert {"role": "system", "content": "A"} == leading
    assert ("user", "system") == (later["role"], later["provider_metadata"]["role"])


def test_media_with_more_than_bytes_are_kept_whole() -> None:
    """Files in S3, and documents with a context, are Bedrock's own."""
    whole = {"document": {"format": "pdf", "name": "a", "source": {"bytes": "AAAA"}, "context": "x"}}
    found = blocks({"image": {"format": "png", "source": {"s3Location": {"uri": "s3://tapes/a"}}}}, whole, cases.IMAGE)

    assert ["opaque", "opaque", "media"] == [block["type"] for block in found]


def test_a_picture_for_a_guardrail_is_kept_whole() -> None:
    """A text is a text."""
    picture = {"guardContent": {"image": {"format": "png", "source": {"bytes": "AAAA"}}}}
    found = blocks(picture, {"guardContent": {"text": {"text": "x"}}})

    assert ["opaque", "text"] == [block["type"] for block in found]
    assert found[1]["provider_metadata"]["guard"] is True


def test_a_cache_point_without_content_before_it() -> None:
    """It is left out and reported."""
    found = loaded(user(POINT, text()), model(cases.SIGNED, POINT, text("OK")))

    assert ["messages[0].content[0]", "messages[1].content[1]"] == [
        change.why.partition(":")[0] for change in found.report
    ]


def test_signed_reasoning_whose_text_is_not_shown_goes_back() -> None:
    """Newer models leave the text out; it goes back empty, with its signature (rule B8)."""
    hidden = {"reasoningContent": {"reasoningText": {"signature": "c2ln"}}}
    body = {"messages": [{"role": "assistant", "content": [hidden, {"text": "OK"}]}]}
    (message,) = read_request(body).messages
    sent_back, _ = sent("bedrock-converse", ["Hi", message, "And?"])

    assert {"type": "thinking", "text": "", "provider": "bedrock", "signature": "c2ln"} == message["content"][0]
    shown = {"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}}
    assert [shown, {"text": "OK"}] == sent_back["messages"][1]["content"]


def test_reasoning_without_a_signature_is_kept() -> None:
    """It is not sent again."""
    _, said = loaded(HI, model(cases.thought(), text("OK"))).messages

    assert {"type": "thinking", "text": "hm", "provider": "bedrock"} == said["content"][0]


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ({"text": "a", "image": {}}, "messages[0].content[0]"),
        ({}, "messages[0].content[0]"),
        ({"text": 1}, "messages[0].content[0].text"),
        ({"image": 1}, "messages[0].content[0].image"),
        ({"image": {"format": "png", "source": 1}}, "messages[0].content[0].image.source"),
        ({"image": {"format": "png", "source": {"bytes": 1}}}, "messages[0].content[0].image.source.bytes"),
        ({"toolUse": {"name": "x"}}, "messages[0].content[0].toolUse.toolUseId"),
        ({"toolResult": {"content": []}}, "messages[0].content[0].toolResult.toolUseId"),
        ({"reasoningContent": {}}, "messages[0].content[0].reasoningContent.reasoningText"),
        ({"reasoningContent": {"redactedContent": 1}}, "messages[0].content[0].reasoningContent.redactedContent"),
    ],
)
def test_what_is_not_a_block_is_refused(content: Json, where: str) -> None:
    """The error names the place."""
    with pytest.raises(InvalidMessage) as error:
        loaded(user(content))

    assert where == error.value.data["field"]


def test_results_belong_to_the_tool() -> None:
    """One without a type is a client's, whoever's message it is in."""
    asked, answered, other = loaded(model(call()), user(result(type="x")), model(result("c2"))).messages

    assert ["assistant", "tool", "tool"] == [message["role"] for message in (asked, answered, other)]


def test_changes_of_the_tools_are_kept_but_not_sent() -> None:
    """Models refuse them in the messages of the role system, which are the user's here (rule B11)."""
    added, removed = ({key: {"tool": {"name": "look"}}} for key in ("toolAddition", "toolRemoval"))
    said = [{"role": "system", "content": [added, text("Be quick")]}, {"role": "system", "content": [removed]}]
    request = loaded(HI, said[0], model(text("OK")), HI, said[1])
    found, _ = render(RenderRequest("bedrock-converse", CLAUDE), entries_of(request.messages))

    assert ["look", "look"] == [
        next(iter(json.loads(block["data_json"]).values()))["tool"]["name"]
        for message in request.messages
        for block in message["content"]
        if block["type"] == "opaque"
    ]
    assert [{"role": "user", "content": [*HI["content"], text("Be quick")]}, model(text("OK")), HI] == json.loads(
        found.body
    )["messages"]
    assert found.ready
    assert ["dropped", "merged", "downgraded", "dropped"] == [change.action for change in found.report]
