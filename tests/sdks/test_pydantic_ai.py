"""A conversation of Pydantic AI is an agent of the daemon: messages come back as they were, whoever else writes."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count, product
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reel
from reel.base.errors import InvalidMessage, InvalidParams, Killed, NotRunning, TooLarge
from reel.base.strict_json import encode
from reel.base.values import Numeral
from reel.sync.client import Client
from tests.altered import places_in
from tests.counted.requests import requests
from tests.daemon import Daemon, short_directory

framework = pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed")

from pydantic_ai import messages as m  # noqa: E402 - these need what may not be installed
from pydantic_ai.capabilities import ProcessHistory  # noqa: E402
from pydantic_ai.conversation import Conversation  # noqa: E402
from pydantic_ai.conversation_store import (  # noqa: E402
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
)
from pydantic_ai.models.function import FunctionModel  # noqa: E402
from pydantic_ai.models.test import TestModel  # noqa: E402
from pydantic_ai.tools import DeferredToolRequests  # noqa: E402
from pydantic_ai.usage import RequestUsage, RunUsage  # noqa: E402

from reel.integrations.pydantic_ai import ReelConversationStore  # noqa: E402
from reel.integrations.pydantic_ai.entries import items_of, read_messages  # noqa: E402

_NUMBERS = count()
# What a framework of next year may write.
LATER: dict[str, Any] = {
    "kind": "request",
    "parts": [{"part_kind": "of-next-year", "content": "words"}],
    "timestamp": None,
}


@pytest.fixture
def store(daemon: Daemon) -> Iterator[ReelConversationStore]:
    made = ReelConversationStore(socket=daemon.socket)
    yield made
    made.close()


@pytest.fixture
def name() -> str:
    """The id of a new conversation."""
    return f"c-{next(_NUMBERS)}"


def asked(*words: str) -> list[Any]:
    """Return a request for each text."""
    return [m.ModelRequest(parts=[m.UserPromptPart(text)]) for text in words]


def run(awaitable: Any) -> Any:
    """Run in an event loop of its own."""

    async def wait() -> Any:
        return await awaitable

    return asyncio.run(wait())


def saved(store: ReelConversationStore, name: str, messages: list[Any], **fields: Any) -> Conversation:
    """Save a new conversation."""
    conversation = Conversation(conversation_id=name, messages=messages, **fields)
    run(store.save(conversation))
    return conversation


def texts(conversation: Conversation | None) -> list[Any]:
    """Return the content of the first part of each message."""
    assert conversation is not None
    return [message.parts[0].content for message in conversation.messages]


def requests_parts() -> list[Any]:
    """Return a part of every type that a request has, with every sort of content."""
    picture = m.BinaryImage(data=bytes(range(256)), media_type="image/png", vendor_metadata={"detail": "low"})
    sound = m.BinaryContent(data=b"\xfb\xff", media_type="audio/wav")
    files = [
        picture,
        sound,
        m.ImageUrl("https://example.org/a.png", force_download=True),
        m.AudioUrl("https://example.org/a.mp3"),
        m.VideoUrl("https://example.org/a.mp4"),
        m.DocumentUrl("https://example.org/unknown", media_type="text/plain"),
    ]
    uploaded = m.UploadedFile("file-1", "openai", media_type="image/png")
    retry = m.RetryInfo(cause="model_retry", attempt=1, max_retries=2)
    digest = m.InstructionDigest(content_hash="a hash")
    return [
        m.SystemPromptPart("Be brief.", dynamic_ref="a", metadata={"deep": [{"x": 1.5}]}),
        m.UserPromptPart("NUL \0, \U0001f39e, and words that are long enough"),
        m.UserPromptPart(["Look:", *files, uploaded, m.TextContent("more", metadata={"x": 1}), m.CachePoint()]),
        m.UserPromptPart([m.StructuredContent({"a": [1, None]})]),
        m.SpeechPart(speaker="user", transcript="Hello?", audio=sound),
        m.ToolReturnPart("look_up", "A machine.", "c1", metadata={"deep": {"x": [1]}}),
        m.ToolReturnPart("look_up", {"a": [1, 2.5, None, "b"]}, "c2"),
        m.ToolReturnPart("look_up", ["Look:", picture, {"a": 1}], "c3", outcome="failed"),
        m.ToolReturnPart("look_up", None, "c4", outcome="retried", retry=retry),
        m.ToolReturnPart("look_up", picture, "x" * 2000),
        m.ToolSearchReturnPart(
            content={"discovered_tools": [{"name": "a"}]}, tool_name="search_tools", tool_call_id="c5"
        ),
        m.LoadCapabilityReturnPart(content={"capability_id": "a"}, tool_name="load_capability", tool_call_id="c6"),
        m.RetryFeedbackPart("Again.", retry=m.RetryInfo(cause="no_output", attempt=1, max_retries=2)),
        m.ToolAvailabilityDeltaPart(tools_added=["a"]),
        m.CapabilityLoadDeltaPart(loaded=["a"]),
        m.ModelSettingsDeltaPart(settings={"thinking": "high"}),
        m.InstructionDeltaPart(id=None, content="Be kind."),
        m.InstructionBaselinePart(instructions=[m.InstructionPart("Be brief."), digest]),
        m.CompactionPart("What was said.", metadata={"x": 1}),
    ]


def response_parts() -> list[Any]:
    """Return a part of every type that a response has."""
    details = {"provider_name": "openai", "provider_details": {"deep": [{"x": 1}]}, "id": "i1"}
    source = m.WebCitationSource(url="https://example.org")
    picture = m.BinaryImage(data=bytes(range(256)), media_type="image/png")
    discovered: Any = {"discovered_tools": [{"name": "a"}]}
    return [
        m.TextPart(
            "A machine.", **details, citations=[m.Citation([source], anchor=m.ContentCitationAnchor(start=0, end=1))]
        ),
        m.ThinkingPart("Hmm.", signature="c2ln", **details),
        m.ThinkingPart("Hmm.", signature="c2ln", provider_name="anthropic"),
        m.ThinkingPart("", id="redacted_thinking", signature="c2ln", provider_name="anthropic"),
        m.ToolCallPart("look_up", {"word": "tape deck", "deep": [{"x": 2**60}]}, "c1", **details),
        m.ToolCallPart("look_up", '{"word": "tape', "c2"),
        m.ToolCallPart("look_up", None, "c3"),
        m.ToolCallPart("", {}, ""),
        m.ToolSearchCallPart(tool_name="search_tools", args={"queries": ["a"]}, tool_call_id="c5"),
        m.LoadCapabilityCallPart(tool_name="load_capability", args={"id": "a"}, tool_call_id="c6"),
        m.NativeToolCallPart("web_search", {"query": "tape"}, "n1", provider_name="openai"),
        m.NativeToolReturnPart("web_search", [{"url": "https://example.org"}], "n1", provider_name="openai"),
        m.NativeToolSearchCallPart(args={"queries": ["a"]}, tool_call_id="n2"),
        m.NativeToolSearchReturnPart(content=discovered, tool_call_id="n2"),
        m.CompactionPart(None, provider_name="openai", provider_details={"encrypted_content": "x"}),
        m.FilePart(picture, **details),
        m.SpeechPart(speaker="assistant", transcript="Hello.", interrupted_at_ms=5),
    ]


def every_message() -> list[Any]:
    """Return a message with every part alone, and two with all fields and parts."""
    now = datetime(2026, 11, 23, 12, 0, 0, 123456, tzinfo=UTC)
    beside = {"run_id": "r", "conversation_id": "c", "metadata": {"deep": [{"x": 1}]}, "timestamp": now}
    usage = RequestUsage(input_tokens=3, output_tokens=4, details={"a": 1})
    about = {"model_name": "gpt-5", "provider_name": "openai", "provider_response_id": "p", "finish_reason": "stop"}
    return [
        *(m.ModelRequest(parts=[part]) for part in requests_parts()),
        m.ModelRequest(parts=requests_parts(), instructions="Be brief.", **beside),
        m.ModelRequest(parts=[]),
        *(m.ModelResponse(parts=[part]) for part in response_parts()),
        m.ModelResponse(parts=response_parts(), usage=usage, provider_details={"x": 1}, **about, **beside),
        m.ModelResponse(parts=[]),
    ]


def test_every_part_is_tried() -> None:
    """The examples have every type of part, and of content of a prompt, that the framework has."""
    for union, examples in ((m.ModelRequestPart, requests_parts()), (m.ModelResponsePart, response_parts())):
        kinds = {get_args(member)[0] for member in get_args(get_args(union)[0])}
        assert {kind for kind in kinds if kind.__name__ != "RetryPromptPart"} - {
            type(part) for part in examples
        } == set()
    contents = {type(content) for part in requests_parts()[2:4] for content in part.content}
    assert {kind for kind in get_args(get_args(m.UserContent)[0]) if isinstance(kind, type)} <= contents


def test_every_message(store: ReelConversationStore, name: str, client: Client) -> None:
    """A message with each type of part comes back deeply equal, alone and as a whole, and everybody can read it."""
    messages = every_message()

    saved(store, name, messages)
    loaded = run(store.load(name))

    assert loaded.messages == messages
    assert m.ModelMessagesTypeAdapter.dump_json(loaded.messages) == m.ModelMessagesTypeAdapter.dump_json(messages)
    said = [block for message in client.iter_messages(store.prefix + name) for block in message["content"]]
    assert {block["type"] for block in said} >= {"text", "tool_call", "tool_result", "thinking", "media"}
    for form in ("anthropic", "openai-chat", "openai-responses", "gemini"):
        assert client.render(store.prefix + name, form, model="claude-opus-5" if form == "anthropic" else "x").body


def test_a_new_conversation(store: ReelConversationStore, name: str) -> None:
    """What is not there is not loaded, listed or deleted; a conversation without messages can be saved."""
    assert run(store.load(name)) is None
    assert [] == run(store.read_history(None))
    run(store.delete(name))

    saved(store, name, [])

    assert [] == run(store.load(name)).messages
    assert [] == run(store.load_entries(name))


def test_a_run_with_tools(store: ReelConversationStore, name: str, client: Client) -> None:
    """The framework runs with the conversation; its instructions are the agent's prompt, and its usage is kept."""
    agent = framework.Agent(TestModel(), instructions="Be brief.")

    def look_up(word: str) -> str:
        return f"{word}: a machine"

    agent.tool_plain(look_up)
    for said in ("What?", "Again?"):
        conversation = run(store.load(name)) or Conversation(conversation_id=name)
        result = run(agent.run(said, conversation=conversation))
        assert len(run(store.save(result))) == (4 if said == "What?" else 2)

    loaded = run(store.load(name))
    assert loaded == result.conversation
    assert 3 == loaded.usage.requests
    page = client.messages(store.prefix + name)
    assert "Be brief." == page.system
    assert ["user", "assistant", "tool", "assistant", "user", "assistant"] == [each["role"] for each in page.messages]


def test_a_streaming_run(store: ReelConversationStore, name: str) -> None:
    """It is saved as another one, once its stream has ended; one that was left is refused, and nothing is stored."""
    agent = framework.Agent(TestModel(custom_output_text="two words"))

    async def stream(said: str, *, whole: bool) -> Any:
        conversation = await store.load(name) or Conversation(conversation_id=name)
        async with agent.run_stream(said, conversation=conversation) as result:
            async for _ in result.stream_text(debounce_by=None):
                if not whole:
                    break
        return result

    result = run(stream("one", whole=True))
    assert 2 == len(run(store.save(result, scope="s")))
    assert [] == run(store.save(result))
    loaded = run(store.load(name))
    assert loaded.messages == result.all_messages()
    with pytest.raises(framework.UserError, match="still streaming"):
        run(store.save(run(stream("two", whole=False))))
    assert loaded.messages == run(store.load(name)).messages
    assert ["s"] == [record.scope for record in run(store.read_records(scope="s"))]
    late = run(stream("two", whole=True))
    assert 2 == len(run(store.save(run(stream("two", whole=True)))))
    with pytest.raises(ConversationConflict):
        run(store.save(late))
    assert 4 == len(run(store.load(name)).messages)


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_streaming_run_that_sends_less(store: ReelConversationStore, name: str, *, is_cut: bool) -> None:
    """What a run joins or leaves out of the history stays as it is stored, as if the run was no streaming one."""

    def cut(messages: list[Any]) -> list[Any]:
        return messages[-2:] if is_cut else messages

    agent = framework.Agent(TestModel(custom_output_text="two words"), capabilities=[ProcessHistory(cut)])
    calls = [m.ToolCallPart("look", {}, "c1"), m.ToolCallPart("remove", {}, "c2")]
    results = [m.ModelRequest([m.ToolReturnPart(each.tool_name, "x", each.tool_call_id)]) for each in calls]
    said = [m.ModelRequest([m.UserPromptPart("one")]), m.ModelResponse(calls), *results]
    run(store.save(Conversation(conversation_id=name, messages=[*said, m.ModelResponse([m.TextPart("done")])])))
    before = run(store.load(name)).messages

    async def stream() -> Any:
        async with agent.run_stream("two", conversation=await store.load(name)) as result:
            async for _ in result.stream_text():
                pass
        return result

    result = run(stream())
    assert len(result.all_messages()) < 7
    assert 2 == len(run(store.save(result)))
    assert [] == run(store.save(result))
    assert run(store.load(name)).messages == [*before, *result.new_messages()]
    late = run(stream())
    run(store.delete(name))
    with pytest.raises(ConversationConflict):
        run(store.save(late))


def test_a_save_is_one_undoable_command(store: ReelConversationStore, name: str, client: Client) -> None:
    """An undo takes back what a save added, and lists it as a branch; the copy of before it can be saved no more."""
    saved(store, name, asked("one"))
    conversation = run(store.load(name))
    conversation.messages += asked("two", "three")
    entries = run(store.save(conversation))
    client.undo(store.prefix + name)

    undone = run(store.load(name))
    assert ["one"] == texts(undone)
    assert run(store.read_record(name)).branches == [entries[-1].id]
    conversation.messages += asked("four")
    with pytest.raises(ConversationConflict):
        run(store.save(conversation))
    back = run(store.branch(name, from_entry=entries[-1].id, expected_revision=undone.revision))
    assert ["one", "two", "three"] == texts(back)
    said = [message["content"] for message in client.iter_messages(store.prefix + name)]
    assert said == [[{"type": "text", "text": text}] for text in ("one", "two", "three")]


def test_everybody_reads_and_writes(store: ReelConversationStore, name: str, client: Client) -> None:
    """What others add is read at the next turn, with an id that stays; who did not read it cannot save over it."""
    conversation = saved(store, name, asked("one"))
    conversation.messages += asked("two")
    client.add(store.prefix + name, "in between")
    with pytest.raises(ConversationConflict):
        run(store.save(conversation))

    loaded = run(store.load(name))
    assert ["one", "in between"] == texts(loaded)
    loaded.messages += asked("two")
    run(store.save(loaded))

    assert ["one", "in between", "two"] == texts(run(store.load(name)))
    foreign = run(store.load_entries(name))[1]
    assert run(store.read_entry(foreign.id)) == foreign
    branched = run(store.branch(name, from_entry=foreign.id, expected_revision=loaded.revision))
    assert ["one", "in between"] == texts(branched)
    assert ["one", "in between"] == texts(run(store.load(run(store.fork(name)).conversation_id)))


def test_somebody_adds_between_a_read_and_a_write(store: ReelConversationStore, name: str, client: Client) -> None:
    """A record that was read before somebody added is not replaced."""
    saved(store, name, asked("one"))
    record = run(store.read_record(name))
    client.add(store.prefix + name, "in between")

    with pytest.raises(ConversationConflict):
        run(store.write_record(replace(record, revision="next"), expected_revision=record.revision))


def test_a_paused_run(store: ReelConversationStore, name: str, client: Client) -> None:
    """A run waits for its calls although somebody has added to the conversation, but not if they were taken back."""
    call = m.ToolCallPart("look_up", {}, "c1")
    waiting = DeferredToolRequests(approvals=[call])
    saved(store, name, [*asked("What?"), m.ModelResponse(parts=[call])], deferred_tool_requests=waiting)

    client.add(store.prefix + name, "in between")
    assert run(store.load(name)).deferred_tool_requests == waiting
    client.clear(store.prefix + name)
    assert run(store.load(name)).deferred_tool_requests is None


def test_somebody_adds_during_a_run(store: ReelConversationStore, name: str, client: Client) -> None:
    """What a run added is saved behind it, as docs/frameworks.md says."""
    agent = framework.Agent(TestModel())
    result = run(agent.run("one", conversation=saved(store, name, [])))
    client.add(store.prefix + name, "in between")
    with pytest.raises(ConversationConflict):
        run(store.save(result))

    conversation = run(store.load(name))
    conversation.messages += result.new_messages()
    run(store.save(conversation))

    assert ["in between", "one", "success (no tool calls)"] == texts(run(store.load(name)))


def test_a_change_that_is_none(store: ReelConversationStore, name: str, client: Client) -> None:
    """A title, a mark, a note, and an addition that was undone are no reason for a conflict."""
    conversation = saved(store, name, asked("one"))
    agent = store.prefix + name
    client.change(agent, title="A title")
    client.mark(agent, "here")
    client.add(agent, {"kind": "note", "content": "of somebody else"})
    client.add(agent, "in between")
    client.undo(agent)

    conversation.messages += asked("two")
    run(store.save(conversation))

    assert ["one", "two"] == texts(run(store.load(name)))


def test_an_agent_that_another_program_began(daemon: Daemon, client: Client, name: str) -> None:
    """With the prefix of its name any agent is a conversation; every sort of message has a type of the framework."""
    picture = {"type": "media", "mime_type": "image/png", "data_base64": "QUJD"}
    page = {"type": "media", "mime_type": "text/html", "url": "https://example.org"}
    opaque = {"type": "opaque", "provider": "openai", "data_json": "{}"}
    said = [
        {"type": "thinking", "text": "Hmm.", "signature": "c2ln", "provider": "anthropic"},
        {"type": "redacted_thinking", "data": "c2ln", "provider": "anthropic"},
        {"type": "redacted_thinking", "data": "c2ln"},
        {"type": "text", "text": "Well."},
        {"type": "tool_call", "id": "c1", "name": "look_up", "arguments": "{}"},
        {"type": "tool_call", "id": "c2", "name": "look_up", "arguments": "{}"},
        opaque,
        picture,
        page,
    ]
    results = [
        {"type": "tool_result", "tool_call_id": "c1", "content": "A machine.", "is_error": True},
        {"type": "tool_result", "tool_call_id": "c2", "content": [{"type": "text", "text": "A"}, picture]},
        {"type": "tool_result", "tool_call_id": "c3", "content": "late"},
    ]
    name = f"other/{name}"
    client.create(name, system="not of the framework")
    messages: list[Any] = [
        {"role": "user", "content": "Be brief.", "provider_metadata": {"role": "developer"}},
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, picture, page]},
        {"role": "user", "content": [opaque]},
        {"role": "assistant", "content": said, "provider_metadata": {"model": "claude-opus-5"}},
        {"role": "tool", "content": results},
        {"role": "user", "content": "old", "sent": 1_000},
    ]
    client.add(name, messages)
    store = ReelConversationStore(socket=daemon.socket, prefix="")

    loaded = run(store.load(name))
    kinds = [[type(part) for part in message.parts] for message in loaded.messages]
    answer, result = loaded.messages[3:5]

    assert kinds[:3] == [[m.SystemPromptPart], [m.UserPromptPart], [m.UserPromptPart]]
    assert kinds[3] == [*[m.ThinkingPart] * 3, m.TextPart, *[m.ToolCallPart] * 2, m.FilePart, m.TextPart]
    assert ("claude-opus-5", "c2ln") == (answer.model_name, answer.parts[1].signature)
    assert ["look_up", "look_up", "unknown"] == [part.tool_name for part in result.parts]
    assert ["failed", "success", "success"] == [part.outcome for part in result.parts]
    assert result.parts[1].content == ["A", m.BinaryImage(data=b"ABC", media_type="image/png")]
    assert "text/html" == loaded.messages[1].parts[0].content[2].media_type
    assert loaded.messages[5].timestamp == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    agent = framework.Agent(TestModel())
    assert 2 == len(run(store.save(run(agent.run("And?", conversation=loaded)))))
    assert [name] == [record.conversation_id for record in run(store.list_conversations()) if record.head_id][:1]
    store.close()


def test_a_clone_of_another_program(store: ReelConversationStore, name: str, client: Client) -> None:
    """A clone that somebody has made is a conversation of its own."""
    conversation = saved(store, name, asked("one", "two"))
    client.clone(store.prefix + name, f"{store.prefix}{name}-copy")

    copy = run(store.load(f"{name}-copy"))

    assert copy.messages == conversation.messages
    assert f"{name}-copy" == copy.conversation_id
    copy.messages += asked("three")
    run(store.save(copy))
    assert ["one", "two"] == texts(run(store.load(name)))


def test_a_clone_into_a_conversation(store: ReelConversationStore, name: str, client: Client) -> None:
    """What it had before is a branch, and can be gone back to, although the new entries have the same seqs."""
    before = saved(store, name, asked("one", "two"))
    saved(store, f"{name}-source", asked("three", "four"))
    client.clone(f"{store.prefix}{name}-source", into=store.prefix + name)

    loaded = run(store.load(name))
    assert ["three", "four"] == texts(loaded)
    (left,) = run(store.read_record(name)).branches
    branched = run(store.branch(name, from_entry=left, expected_revision=loaded.revision))
    assert branched.messages == before.messages
    branched.messages += asked("five")
    run(store.save(branched))
    assert ["one", "two", "five"] == texts(run(store.load(name)))


def test_what_a_newer_version_wrote(store: ReelConversationStore, name: str, client: Client) -> None:
    """A part of an unknown type is kept, and loaded as its words; so is a message of an unknown kind."""
    agent = store.prefix + name
    known = {"part_kind": "user-prompt", "content": "Hello?", "timestamp": "2026-11-23T12:00:00Z"}
    items: list[Any] = [
        LATER,
        {**LATER, "parts": [known, *LATER["parts"]]},
        {"kind": "response", "parts": [{"part_kind": "later", "x": 1}]},
        {"kind": "later"},
    ]
    said: list[Any] = [[{"role": "user", "content": "words"}] for _ in items]
    client.add_items(agent, items, "x-pydantic-ai", create=True, messages=said, refs=["a", "b", "c", "d"])

    loaded = run(store.load(name))

    assert ["words", "Hello?", '{"part_kind":"later","x":1}', '{"kind":"later"}'] == texts(loaded)
    assert isinstance(loaded.messages[2].parts[0], m.TextPart)
    assert items == [found["item"] for found in client.items(agent, "x-pydantic-ai").items]


def test_a_record_that_cannot_be_read(store: ReelConversationStore, name: str, client: Client) -> None:
    """One whose words were erased is as if nobody had saved it; one of a newer version is not replaced."""
    agent = store.prefix + name
    conversation = saved(store, name, asked("one"), usage=RunUsage(requests=3))
    (note,) = client.history(agent, kinds=["note"]).events
    client.redact(agent, seqs=[note["seq"]])

    assert ["one"] == texts(run(store.load(name)))
    assert run(store.load(name)).usage == RunUsage()
    conversation.messages += asked("two")
    with pytest.raises(ConversationConflict):
        run(store.save(conversation))
    later = (note["data_json"] or "").replace('format_version\\":1', 'format_version\\":2')
    client.add(agent, {"kind": "note", "data_json": later})
    with pytest.raises(framework.UserError, match=r"format_version: .*use the version of pydantic-ai"):
        run(store.load(name))
    assert name in [record.conversation_id for record in run(store.list_conversations())]


def test_what_a_message_cannot_say_as_it_is(store: ReelConversationStore, name: str) -> None:
    """A lone surrogate, which has no UTF-8, becomes U+FFFD."""
    saved(store, name, asked("broken \ud800"))

    assert ["broken \ufffd"] == texts(run(store.load(name)))


def test_a_message_without_json(store: ReelConversationStore, name: str) -> None:
    """What the framework cannot write as JSON is refused with its own error, which says which message it is."""
    messages = [*asked("one"), m.ModelRequest(parts=[m.ToolReturnPart("look_up", object(), "c1")])]

    with pytest.raises(framework.UserError, match=r"new message 1: there is no JSON for it: .*object"):
        saved(store, name, messages)
    assert run(store.load(name)) is None


@pytest.mark.parametrize("levels", [90, 190, 200, 250, 5_000])
def test_a_value_that_is_deep(store: ReelConversationStore, name: str, levels: int) -> None:
    """It comes back as it was, or is refused: the framework reads no JSON of more than 200 levels."""
    value: Any = []
    for _ in range(levels):
        value = {"deeper": value}
    messages = [*asked("one"), m.ModelRequest(parts=[m.ToolReturnPart("look_up", value, "c1")])]
    if levels < 195:
        saved(store, name, messages)
        assert run(store.load(name)).messages == messages
        return
    with pytest.raises(framework.UserError, match=r"new message 1: .*(recurs|deep|depth|reference)"):
        saved(store, name, messages)
    waiting = DeferredToolRequests(metadata={"c1": {"x": value}})
    with pytest.raises(framework.UserError, match=r"record: .*(recurs|deep|depth|reference)"):
        saved(store, name, asked("one"), deferred_tool_requests=waiting)
    assert run(store.load(name)) is None


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({}, "{}"),
        ({"kind": "request", "parts": 5}, '{"kind":"request","parts":5}'),
        ({"kind": "request", "parts": ["Hello?", None]}, "Hello?"),
        ({"kind": {}, "parts": [{"part_kind": []}]}, '{"kind":{},"parts":[{"part_kind":[]}]}'),
        (
            {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": [], "tool_call_id": {}}]},
            '"tool-call"',
        ),
        ({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": Numeral("9" * 5_000)}]}, "9" * 5_000),
        ({"kind": "request", "parts": [{"part_kind": "later", "content": "\ud800"}]}, "\ufffd"),
    ],
)
def test_what_cannot_be_read(
    store: ReelConversationStore, name: str, client: Client, item: dict[str, Any], words: str
) -> None:
    """What others stored, and the framework cannot read, comes as words, with notes of any sort; a run goes on."""
    agent = store.prefix + name
    client.add_items(agent, encode([item]), "x-pydantic-ai", create=True, messages=[[reel.text("user", "Hello?")]])
    for data in ('{"pydantic_ai_record": {}}', f'{{"pydantic_ai_record": {"9" * 5_000}}}'):
        client.add(agent, {"kind": "note", "data_json": data})
    client.add(agent, "And a reel?")

    conversation = run(store.load(name))
    result = run(framework.Agent(TestModel()).run("Go on.", conversation=conversation))
    run(store.save(result))

    assert words in texts(conversation)[0]
    assert "And a reel?" == texts(conversation)[1]
    assert 4 == len(run(store.load(name)).messages)


_JUNK = st.recursive(
    st.sampled_from((None, True, 5, 1.5, 10**400, "", "text", "tool-call")),
    lambda inside: (
        st.lists(inside, max_size=2)
        | st.dictionaries(st.sampled_from(("part_kind", "content", "kind", "x")), inside, max_size=3)
    ),
    max_leaves=4,
)


@settings(max_examples=100)
@given(data=st.data())
def test_anything_can_be_read(data: st.DataObject) -> None:
    """With anything in any place of an item, there is a message that the framework can use."""
    parts = data.draw(st.sampled_from((requests_parts, response_parts)))()
    kind = m.ModelRequest if isinstance(parts[0], m.SystemPromptPart) else m.ModelResponse
    (item,) = items_of([kind(parts=[data.draw(st.sampled_from(parts))])])
    for _ in range(data.draw(st.integers(1, 3))):
        inside, key = data.draw(st.sampled_from([*places_in(item)]))
        inside[key] = data.draw(_JUNK)
    added: Any = {"seq": 2, "time": 1, "message": {"provider_metadata": {}, **reel.tool_result("c1", "done")}}

    messages = read_messages([{"item_json": encode(item)}, added])

    assert 2 == len(messages)
    assert m.ModelMessagesTypeAdapter.dump_json(m.repair_messages(messages))


@pytest.mark.parametrize("answer", [[], [reel.text("assistant", "Yes.")]])
def test_what_is_added_between_a_call_and_its_result(
    store: ReelConversationStore, name: str, client: Client, answer: list[Any]
) -> None:
    """The framework sends the result right behind the call, and what was added after that."""
    sent: list[list[m.ModelMessage]] = []

    def model(messages: list[m.ModelMessage], info: Any) -> m.ModelResponse:
        del info
        sent.append(messages)
        return m.ModelResponse(parts=[m.TextPart("Done.")])

    agent = framework.Agent(FunctionModel(model))
    saved(store, name, [*asked("What?"), m.ModelResponse(parts=[m.ToolCallPart("look_up", {}, "c1")])])
    client.add(store.prefix + name, ["Hurry up.", *answer])
    conversation = run(store.load(name))
    conversation.messages.append(m.ModelRequest(parts=[m.ToolReturnPart("look_up", "A machine.", "c1")]))
    run(store.save(conversation))

    run(store.save(run(agent.run("Go on.", conversation=run(store.load(name))))))

    kinds = [[part.part_kind for part in message.parts] for message in sent[0]]
    assert ["tool-call"] == kinds[1]
    assert ["tool-return", "user-prompt"] == kinds[2][:2]
    assert "Hurry up." in str(sent[0])
    assert (
        6 + len(answer)
        == len(run(store.load(name)).messages)
        == len(client.items(store.prefix + name, "x-pydantic-ai").items)
    )


def test_a_note_that_looks_like_a_record(store: ReelConversationStore, name: str, client: Client) -> None:
    """A note of another client is ignored, whatever it says: the record before it counts."""
    conversation = saved(store, name, asked("one"), usage=RunUsage(requests=3))
    for data_json in ('{"pydantic_ai_record": "words"}', '{"pydantic_ai_record": 1}', '{"x": "pydantic_ai_record"}'):
        client.add(store.prefix + name, {"kind": "note", "data_json": data_json})

    assert run(store.load(name)) == conversation
    conversation.messages += asked("two")
    run(store.save(conversation))
    assert ["one", "two"] == texts(run(store.load(name)))


def test_a_run_that_was_interrupted(store: ReelConversationStore, name: str, client: Client) -> None:
    """A history that ends with a call is loaded, the daemon says that the call is open, and a run goes on with it."""
    call = m.ModelResponse(parts=[m.ToolCallPart("look_up", {}, "c1")])
    waiting = DeferredToolRequests(approvals=[call.parts[0]])
    saved(store, name, [*asked("What?"), call], deferred_tool_requests=waiting, usage=RunUsage(requests=1))

    assert ["c1"] == [open_call.id for open_call in client.agent(store.prefix + name).open_calls]
    loaded = run(store.load(name))
    assert loaded.deferred_tool_requests == waiting
    agent = framework.Agent(TestModel())
    result = run(agent.run("And now?", message_history=m.repair_messages(loaded.messages)))
    assert "interrupted" == result.all_messages()[2].parts[0].outcome


def test_two_writers(store: ReelConversationStore, daemon: Daemon, name: str) -> None:
    """Of what two stores save in one conversation at once, nothing is lost or doubled: who is late hears of it."""
    saved(store, name, [])
    other = ReelConversationStore(socket=daemon.socket)

    async def add(store: ReelConversationStore, words: str) -> None:
        while True:
            conversation = await store.load(name)
            conversation.messages += asked(words)
            try:
                await store.save(conversation)
            except ConversationConflict:
                continue
            return

    async def both() -> None:
        await asyncio.gather(*(add(one, f"{who}-{n}") for n in range(10) for who, one in enumerate((store, other))))

    asyncio.run(both())
    other.close()

    assert sorted(texts(run(store.load(name)))) == sorted(f"{who}-{n}" for who in range(2) for n in range(10))


def test_only_one_creates(store: ReelConversationStore, daemon: Daemon, name: str) -> None:
    """Of those that save or fork a conversation under one new id at once, all but one are told that there is one."""
    other = ReelConversationStore(socket=daemon.socket)

    async def both() -> Any:
        made = [Conversation(conversation_id=name, messages=asked(words)) for words in ("a", "b")]
        return await asyncio.gather(store.save(made[0]), other.save(made[1]), return_exceptions=True)

    async def fork() -> Any:
        forks = (one.fork(name, new_conversation_id=f"{name}-fork") for one in (store, other) * 3)
        return await asyncio.gather(*forks, return_exceptions=True)

    failures = [found for found in asyncio.run(both()) if isinstance(found, BaseException)]
    refused = [found for found in asyncio.run(fork()) if isinstance(found, BaseException)]
    other.close()

    assert [ConversationConflict] == [type(failure) for failure in failures]
    assert [ConversationConflict] * 5 == [type(failure) for failure in refused]
    assert 1 == len(texts(run(store.load(name))))


def test_a_save_is_one_request(store: ReelConversationStore, client: Client, name: str) -> None:
    """What was loaded or saved is saved again without a question; what others did beside it is read first."""
    saved(store, name, asked("one"))
    conversation = run(store.load(name))

    def asks(words: str) -> dict[str, int]:
        before = requests(client)
        conversation.messages += asked(words)
        run(store.save(conversation))
        return dict(requests(client) - before)

    assert [{"commit": 1}] * 2 == [asks("two"), asks("three")]
    client.add(store.prefix + name, [{"kind": "note", "data_json": '{"by": "another"}'}])
    assert {"commit": 2, "history": 2, "messages": 1} == asks("four")
    assert {"commit": 1} == asks("five")
    assert ["one", "two", "three", "four", "five"] == texts(run(store.load(name)))


def test_what_is_saved_was_replaced(store: ReelConversationStore, daemon: Daemon, client: Client, name: str) -> None:
    """Another process has saved, or deleted or killed the conversation and made another: that is a conflict."""
    other = ReelConversationStore(socket=daemon.socket)

    def save(place: str) -> None:
        theirs = run(other.load(place))
        theirs.messages += asked("theirs")
        run(other.save(theirs))

    def delete(place: str) -> None:
        run(other.delete(place))

    def delete_and_begin(place: str) -> None:
        run(other.delete(place))
        saved(other, place, asked("another"))

    def kill_and_begin(place: str) -> None:
        client.kill(store.prefix + place)
        client.add(store.prefix + place, "another", create=True)

    for replaces, rewritten in product((save, delete, delete_and_begin, kill_and_begin), (False, True)):
        place = f"{name}-{replaces.__name__}-{rewritten}"
        mine = saved(store, place, asked("one", "two"))
        mine.messages = [*asked("changed"), *mine.messages] if rewritten else [*mine.messages, *asked("three")]
        replaces(place)
        there = run(other.load(place))
        with pytest.raises(ConversationConflict):
            run(store.save(mine))
        assert there == run(store.load(place))
    other.close()


def test_what_is_saved_was_taken_back_by_a_backup(tmp_path: Path, name: str) -> None:
    """A backup was restored, and others have written as many events since: that is a conflict."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        store = ReelConversationStore(socket=daemon.socket)
        mine = saved(store, name, asked("one"))
        with daemon.client() as client:
            client.backup(str(tmp_path / "backup.db"))
            mine.messages += asked("two")
            run(store.save(mine))
            gone = client.agent(store.prefix + name).head
        daemon.put_back(tmp_path / "backup.db")
        with daemon.client() as client:
            while client.agent(store.prefix + name).head < gone:
                client.add(store.prefix + name, "theirs")

        mine.messages += asked("three")
        with pytest.raises(ConversationConflict):
            run(store.save(mine))
        assert ["one", "theirs", "theirs"] == texts(run(store.load(name)))
        store.close()
        daemon.close()


def test_a_cancelled_save_is_done(store: ReelConversationStore, name: str) -> None:
    """A save that is cancelled is carried out all the same, and the caller hears of the cancellation after that."""
    record = ConversationRecord(conversation_id=name, head_id=None)

    async def cancel() -> None:
        writing = asyncio.ensure_future(store.write_record(record, expected_revision=None))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

    asyncio.run(cancel())

    assert run(store.read_record(name)) == record


def test_the_daemon_is_killed_and_restarted(store: ReelConversationStore, daemon: Daemon, name: str) -> None:
    """Calls during a restart wait for it."""
    conversation = saved(store, name, asked("one"))
    conversation.messages += asked("two")
    daemon.process.kill()
    daemon.process.wait()

    async def wait() -> None:
        saving = asyncio.ensure_future(store.save(conversation))
        await asyncio.to_thread(daemon.start)
        await saving

    asyncio.run(wait())

    assert ["one", "two"] == texts(run(store.load(name)))


def test_a_long_window(store: ReelConversationStore, name: str) -> None:
    """A limit gives the newest messages, and the first of them still points at the one before it."""
    saved(store, name, asked("one", "two", "three"))
    entries = run(store.load_entries(name))

    for limit, expected in ((1, entries[2:]), (2, entries[1:]), (20_000, entries), (0, [])):
        assert run(store.load_entries(name, limit=limit)) == expected
    assert run(store.read_history(entries[1].id, limit=1)) == entries[1:2]


def test_a_fork_shares_its_past(store: ReelConversationStore, daemon: Daemon, name: str, client: Client) -> None:
    """A fork has the entries of its source, also after that was deleted; a new process finds them by their ids."""
    conversation = saved(store, name, asked("one", "two", "three"), usage=RunUsage(requests=3))
    entries = run(store.load_entries(name))
    for at, new_id in ((2, f"{name}-fork"), (None, f"{name}-whole")):
        run(store.fork(name, at=at, new_conversation_id=new_id, scope="x"))
    with pytest.raises(ConversationConflict):
        run(store.fork(name, new_conversation_id=f"{name}-fork"))
    run(store.delete(name))
    other = ReelConversationStore(socket=daemon.socket)

    assert run(other.load_entries(f"{name}-fork")) == entries[:2]
    assert run(other.read_history(entries[2].id)) == entries
    assert run(other.load(f"{name}-whole")).usage == conversation.usage
    assert run(other.load(f"{name}-fork")).usage == RunUsage()
    assert not [agent.name for agent in client.iter_agents(alive=True) if "/" not in agent.name]
    run(store.delete(f"{name}-fork"))
    run(store.delete(f"{name}-whole"))
    with pytest.raises(LookupError, match=entries[0].id):
        run(other.read_entry(entries[0].id))
    other.close()


def test_scopes(daemon: Daemon, client: Client) -> None:
    """A scope is a tag of the agent, by which conversations are listed, the last saved first."""
    other = ReelConversationStore(socket=daemon.socket, prefix="scopes/")
    for number in range(4):
        conversation = Conversation(conversation_id=f"s-{number}", messages=asked("one"))
        run(other.save(conversation, scope=f"user {number % 2}"))
    run(other.save(conversation))

    def listed(**options: Any) -> list[str]:
        return [record.conversation_id for record in run(other.list_conversations(**options))]

    client.change("scopes/s-0", title="changed, and not saved")
    assert ["s-3", "s-2", "s-1", "s-0"] == listed()
    assert ["s-3"] == listed(limit=1)
    assert [] == listed(limit=0)
    assert ["s-3", "s-1"] == listed(scope="user 1")
    assert ["s-2"] == listed(scope="user 0", limit=1)
    assert {"scope": "user 1"} == client.agent("scopes/s-3").tags
    record = run(other.read_record("s-3"))
    moved = ConversationRecord(conversation_id="s-3", head_id=record.head_id, scope="user 2")
    client.change("scopes/s-3", tags={"mine": "x", "scope": "user 1"})
    run(other.write_record(moved, expected_revision=record.revision))
    assert {"scope": "user 2", "mine": "x"} == client.agent("scopes/s-3").tags
    other.close()


@pytest.mark.parametrize("name", ["x" * 10_000, "a\0b", "🎞 tape", "sha256-1"])
def test_an_id_that_is_not_a_name(name: str, store: ReelConversationStore, client: Client) -> None:
    """The agent's name is a hash of such an id, and a tag has the beginning of the id."""
    saved(store, name, asked("one"))

    assert ["one"] == texts(run(store.load(name)))
    assert name in [record.conversation_id for record in run(store.list_conversations())]
    (agent,) = client.agents(
        prefix=f"{store.prefix}sha256-", tags={"session_id": name[:1024].replace("\0", "\ufffd")}
    ).agents
    assert agent.alive


def test_what_is_refused(store: ReelConversationStore, name: str, client: Client) -> None:
    """An id that is not a text, a broken chain, too much, and a killed agent are refused; nothing is added."""
    with pytest.raises(InvalidParams, match="expected a string, got a int"):
        run(store.load(1))
    with pytest.raises(InvalidParams, match="prefix: "):
        ReelConversationStore(prefix=" ")
    one, two = (ConversationEntry(parent_id=None, message=message) for message in asked("one", "two"))
    for chain, head, why in (((one, two), two.id, "has to be after"), ((one,), two.id, "head_id: expected")):
        record = ConversationRecord(conversation_id=name, head_id=head)
        with pytest.raises(framework.UserError, match=why):
            run(store.write_record(record, new_entries=chain, expected_revision=None))
    with pytest.raises(ConversationConflict):
        run(store.write_record(record, expected_revision=None))
    with pytest.raises(framework.UserError, match="no JSON"):
        saved(store, "\ud800", [])
    with pytest.raises(TooLarge):
        saved(store, name, asked("x" * (17 << 20)))
    long = ConversationEntry(id="x" * 300, parent_id=None, message=one.message)
    record = ConversationRecord(conversation_id=name, head_id=long.id)
    with pytest.raises(InvalidMessage, match="ref"):
        run(store.write_record(record, new_entries=[long], expected_revision=None))
    assert run(store.load(name)) is None

    conversation = saved(store, name, asked("one"))
    record = run(store.read_record(name))
    record.revision = "changed by who has read it"
    for head_id in ("nowhere", f"{'0' * 32}:5", f"{client.agent(store.prefix + name).id}:500"):
        unknown = replace(record, head_id=head_id)
        with pytest.raises(ConversationConflict):
            run(store.write_record(unknown, expected_revision=conversation.revision))
        with pytest.raises(LookupError, match=head_id):
            run(store.read_entry(head_id))
    with pytest.raises(ConversationConflict):
        run(store.delete_record(name, expected_revision="another"))
    client.kill(store.prefix + name)
    assert ["one"] == texts(run(store.load(name)))
    conversation.messages += asked("two")
    with pytest.raises(Killed):
        run(store.save(conversation))


def test_no_daemon() -> None:
    """The error says that no daemon answers on the socket."""
    with pytest.raises(NotRunning, match="/nowhere"):
        run(ReelConversationStore(socket="/nowhere").load("x"))
