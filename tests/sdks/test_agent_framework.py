"""A session of Microsoft's Agent Framework is an agent of the daemon: messages come back as they were."""

import asyncio
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reel
from reel.base.errors import Killed, NotRunning, TooLarge
from reel.base.strict_json import encode
from reel.said.messages import NewMessage
from reel.sync.client import Client
from tests.altered import places_in
from tests.counted.requests import requests
from tests.daemon import Daemon, short_directory

Json = dict[str, Any]

framework = pytest.importorskip("agent_framework", reason="agent-framework-core is not installed")

from agent_framework import (  # noqa: E402
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
)
from agent_framework.exceptions import IntegrationException, IntegrationInvalidRequestException  # noqa: E402

from reel.integrations.agent_framework import ReelHistoryProvider  # noqa: E402 - all need what may not be installed
from reel.integrations.agent_framework.reading import messages_in, not_stored  # noqa: E402 - as above

HELLO = Message("user", ["What is a tape deck?"])
CALL = Message("assistant", [Content.from_function_call("c1", "look_up", arguments={"word": "tape deck"})])
RESULT = Message("tool", [Content.from_function_result("c1", result="A machine that plays tapes.")])
ANSWER = Message("assistant", ["It plays and records tapes."], author_name="clerk", message_id="m1")
_NUMBERS = count()
# A program that saves messages, each by itself.


@pytest.fixture
def provider(daemon: Daemon) -> Iterator[ReelHistoryProvider]:
    """A provider."""
    made = ReelHistoryProvider(socket=daemon.socket)
    yield made
    asyncio.run(made.close())


@pytest.fixture
def session() -> str:
    """The id of a session that nobody has used."""
    return f"s-{next(_NUMBERS)}"


def name_of(session: str) -> str:
    """Return the name of the agent of a session."""
    return f"agent-framework/{session}"


def save(provider: ReelHistoryProvider, session: str | None, *messages: Any) -> None:
    asyncio.run(provider.save_messages(session, messages))


def load(provider: ReelHistoryProvider, session: str | None) -> list[Json]:
    """Return the messages of a session as maps."""
    return as_maps(asyncio.run(provider.get_messages(session)))


def as_maps(messages: Any) -> list[Json]:
    return [message.to_dict() for message in messages]


def text(words: str, **more: Any) -> Any:
    return Content.from_text(words, **more)


def contents() -> list[Any]:
    """Return contents of every type, and some that are hard to store."""
    png = Content.from_data(b"image" * 40, "image/png")
    png.name = "a.png"
    call = Content.from_function_call("c9", "delete", arguments='{"a": 1}')
    cited = {"type": "citation", "url": "u", "annotated_regions": [{"type": "text_span", "start_index": 0}]}
    return [
        *(text(words) for words in ("Hello, you there?", "", "@0 and 1 \ud800 and \0 and 🎞")),
        text("cited", annotations=[cited], additional_properties={"deep": [{"x": 1.0, "y": None}] * 2, "big": 10**30}),
        text("no number", additional_properties={"x": float("nan"), "y": [float("-inf")]}),
        text("deep", additional_properties={"x": json.loads("[" * 30 + "]" * 30)}),
        Content.from_text_reasoning(text="Let me think.", protected_data="c2ln", id="rs_1"),
        Content.from_text_reasoning(protected_data="encrypted"),
        png,
        *(Content.from_uri(uri) for uri in ("https://a.b/c.png", "data:text/plain,hi", "data:;base64,QUJD")),
        Content.from_uri("https://a.b/\0", media_type="image/png"),
        Content.from_error(message="too fast", error_code="429", error_details="wait"),
        Content.from_function_call("c1", "look_up", arguments={"word": "tape"}),
        Content.from_function_call("c2", "look_up", arguments="not JSON"),
        Content.from_function_call("x" * 2_000, "of a length that no call may have"),
        Content.from_function_result("c1", result="A machine."),
        Content.from_function_result("c2", result=[text("two"), png, text("three")]),
        Content.from_function_result("c3", result={"a": 1}, exception="it failed"),
        Content.from_usage({"input_token_count": 3}),
        Content.from_hosted_file("file_1", media_type="text/csv", name="a.csv"),
        Content.from_hosted_vector_store("vs_1"),
        Content.from_code_interpreter_tool_call(call_id="i1", inputs=[text("print(1)")]),
        Content.from_code_interpreter_tool_result(call_id="i1", outputs=[text("1"), png]),
        Content.from_code_interpreter_tool_call(inputs=[text("print(2)")]),
        Content.from_image_generation_tool_call(image_id="g1"),
        Content.from_image_generation_tool_result(image_id="g1", outputs=png),
        Content.from_mcp_server_tool_call("m1", "query", server_name="db", arguments={"q": 1}),
        Content.from_mcp_server_tool_result("m1", output=[text("row"), {"type": "text", "of": "another kind"}]),
        Content.from_search_tool_call("w1", tool_name="web_search", arguments={"q": "tape"}),
        Content.from_search_tool_result("w1", tool_name="web_search", result={"hits": [1, 2]}),
        Content.from_shell_tool_call(call_id="b1", commands=["ls", "false"]),
        Content.from_shell_tool_result(
            call_id="b1",
            outputs=[
                Content.from_shell_command_output(stdout="a", exit_code=0),
                Content.from_shell_command_output(stderr="no", exit_code=1, timed_out=True),
            ],
        ),
        Content.from_shell_command_output(stdout="b"),
        Content.from_computer_tool_call(id="o1", call_id="o1", actions=[{"type": "click", "x": 1, "y": 2}]),
        Content.from_computer_tool_result(call_id="o1", screenshot=png),
        Content.from_function_approval_request("a1", call),
        Content.from_function_approval_response(approved=True, id="a1", function_call=call),
        Content.from_oauth_consent_request("https://a.b/consent"),
        Content("of_next_year", text="new", additional_properties={"fields": [1]}),
    ]


def test_it_is_a_history_provider(provider: ReelHistoryProvider, session: str) -> None:
    """It has the framework's options; a new session is empty, and stays so if nothing is saved or it is cleared."""
    assert isinstance(provider, framework.HistoryProvider)
    assert ("reel", True, True) == (provider.source_id, provider.load_messages, provider.store_inputs)
    assert [] == load(provider, session)
    save(provider, session)
    asyncio.run(provider.clear(session))
    assert [] == load(provider, session)


@pytest.mark.filterwarnings("ignore::agent_framework._feature_stage.ExperimentalWarning")
def test_every_type_of_content(provider: ReelHistoryProvider, session: str) -> None:
    """A content of every type that the framework has, in a message of every role, comes back deeply equal."""
    every = contents()
    assert set(get_args(framework._types.ContentType)) <= {content.type for content in every}
    messages = [
        Message(role, [content], message_id=f"m-{next(_NUMBERS)}")
        for role in ("user", "assistant", "tool", "system", "narrator")
        for content in every
    ]
    beside = {"author_name": "clerk", "message_id": "all", "additional_properties": {"a": {"b": [1, 1.0, True]}}}
    messages += [Message("assistant", every, **beside), Message("user", []), Message("tool", [])]

    save(provider, session, *messages)

    # Their texts: 1, 1.0 and true are equal in Python, and NaN equals nothing.
    assert [repr(message) for message in load(provider, session)] == [repr(message) for message in as_maps(messages)]


def test_one_that_cannot_be_read_among_others() -> None:
    """It becomes a text of its own, and the others are as they were."""
    texts = ['{"role":"user","contents":[{"type":"text","text":"one"}]}', "[1]", "1" * 5000, "[" * 5000 + "]" * 5000]
    texts += ['{"python_json":"{\\"role\\":\\"user\\",\\"contents\\":[\\"NaN\\"]}"}', "{}", texts[0]]

    found = messages_in([{"item_json": text} for text in texts[:3] + texts[4:]])

    assert ["one", "[1]", "1" * 5000, "NaN", "{}", "one"] == [message.text for message in found]
    assert ["one", "one"] == [message.text for message in messages_in([{"item_json": texts[0]}] * 2)]


def test_what_is_of_a_newer_version(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """Contents and fields that this version does not know are kept; it reads a content with all of its fields."""
    content = {"type": "hologram", "depth": 3, "additional_properties": {}}
    item = {"type": "message", "role": "assistant", "contents": [content], "mood": "good", "message_id": "m1"}
    said: list[NewMessage] = [{"role": "assistant", "content": "[a hologram]"}]
    client.add_items(name_of(session), [item], "x-agent-framework", create=True, messages=[said])

    found = asyncio.run(provider.get_messages(session))

    assert [("m1", "hologram", 3)] == [
        (message.message_id, message.contents[0].type, message.contents[0].additional_properties["depth"])
        for message in found
    ]
    assert [item] == [each["item"] for each in client.items(name_of(session), "x-agent-framework").items]


def test_a_call_with_a_field_of_a_newer_version(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """It stays a call, with the field beside it."""
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}", "mood": "good"}
    item = {"type": "message", "role": "assistant", "contents": [call]}
    said: list[NewMessage] = [
        {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}]}
    ]
    client.add_items(name_of(session), [item], "x-agent-framework", create=True, messages=[said])

    (message,) = asyncio.run(provider.get_messages(session))

    (found,) = message.contents
    assert ("function_call", "c1", {"mood": "good"}) == (found.type, found.call_id, found.additional_properties)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_what_is_not_stored(count: int) -> None:
    """Where the framework lacks its own function, ours says the same of a history that is given again, or goes on."""
    said = [Message("user" if number % 2 else "assistant", [str(number)]) for number in range(5)]
    for begin in range(count + 1):
        given = said[begin : count + 2]
        expected = framework._sessions.filter_new_messages(said[:count], given)
        assert expected == not_stored(said[:count], given)


@pytest.mark.filterwarnings("ignore::agent_framework._feature_stage.ExperimentalWarning")
@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({}, "{}"),
        ({"hello": 1}, '{"hello": 1}'),
        ({"role": "user", "contents": 5}, '{"role": "user", "contents": 5}'),
        ({"role": 5, "contents": ["Hello?"]}, "Hello?"),
        ({"role": "user", "contents": ["Hello?", None, {"type": "text", "text": [5]}]}, "Hello? null {"),
        ({"role": "user", "contents": [{"type": {}}, {}, 7]}, '{"type": {}} {} 7'),
        ({"role": "user", "contents": [text("Hello?").to_dict()], "additional_properties": 5}, "Hello?"),
        ({"role": "user", "contents": [{"type": "text", "text": "Hello?", "annotations": [5]}]}, "Hello?"),
        ({"role": "user", "contents": [{"type": "text", "text": "Hello?", "raw_representation": {}}]}, "Hello?"),
        ({"role": "user", "contents": [{"type": "function_approval_request", "function_call": {"a": 1}}]}, '"a": 1'),
        ({"python_json": "not JSON"}, '{"python_json":"not JSON"}'),
        ({"python_json": "[1]"}, '{"python_json":"[1]"}'),
        ({"number": reel.base.values.Numeral("9" * 5_000)}, "9999"),
    ],
)
def test_what_cannot_be_read(
    provider: ReelHistoryProvider, session: str, client: Client, item: Json, words: str
) -> None:
    """What others stored, and the framework cannot read, comes as words; a run goes on after it."""
    said: list[NewMessage] = [{"role": "user", "content": "Hello?"}]
    client.add_items(name_of(session), encode([item]), "x-agent-framework", create=True, messages=[said])
    parrot = Parrot()
    agent = Agent(parrot, context_providers=[provider])

    asyncio.run(agent.run("Go on.", session=agent.create_session(session_id=session)))

    assert words in parrot.sent[0][0].text
    assert ["Go on.", "2 messages"] == [message.text for message in asyncio.run(provider.get_messages(session))[1:]]


def test_a_result_that_cannot_be_read(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """It is a result for the same call, with its words."""
    save(provider, session, HELLO, CALL)
    result = {"type": "function_result", "call_id": "c1", "items": "not a list"}
    client.add_items(
        name_of(session),
        [{"role": "tool", "contents": [result]}],
        "x-agent-framework",
        messages=[[reel.tool_result("c1", "?")]],
    )

    found = load(provider, session)[-1]["contents"][0]

    assert ("function_result", "c1") == (found["type"], found["call_id"])
    assert "not a list" in found["result"]


_JUNK = st.recursive(
    st.sampled_from((None, True, 5, 1.5, "", "text", "c1")),
    lambda inside: (
        st.lists(inside, max_size=2)
        | st.dictionaries(st.sampled_from(("type", "text", "items", "call_id", "x")), inside, max_size=3)
    ),
    max_leaves=4,
)


@pytest.mark.filterwarnings("ignore::agent_framework._feature_stage.ExperimentalWarning")
@settings(max_examples=100)
@given(data=st.data())
def test_anything_can_be_read(data: st.DataObject) -> None:
    """With anything in any place of an item, there is a message that the framework can use."""
    role = data.draw(st.sampled_from(("user", "assistant", "tool")))
    item = {"role": role, "contents": [data.draw(st.sampled_from(contents())).to_dict()]}
    for _ in range(data.draw(st.integers(1, 3))):
        inside, key = data.draw(st.sampled_from([*places_in(item)]))
        inside[key] = data.draw(_JUNK)

    (message,) = messages_in([{"item_json": json.dumps(item)}])

    assert [message] == framework._sessions.filter_new_messages([], [message])
    assert isinstance(message.text + repr(message.to_dict()), str)


def test_what_is_added_between_a_call_and_its_result(
    provider: ReelHistoryProvider, session: str, client: Client
) -> None:
    """It comes after the result, which a provider wants to follow its call; a later run saves nothing twice."""
    save(provider, session, HELLO, CALL)
    client.add(name_of(session), ["Hurry up.", reel.text("assistant", "Yes.")])
    save(provider, session, RESULT)

    found = load(provider, session)
    save(provider, session, *(Message.from_dict(each) for each in found), ANSWER)

    assert as_maps([HELLO, CALL, RESULT]) == found[:3]
    assert ["Hurry up.", "Yes."] == [each["contents"][0]["text"] for each in found[3:]]
    assert [*found, *as_maps([ANSWER])] == load(provider, session)


# Batches of a small alphabet, so that many overlap with what is there; some of the messages have an id. One of two
# providers saves a batch, and the first one may have read the session before that.
_WORDS = st.lists(st.sampled_from(("a", "b", "A", "B")), max_size=4)
_BATCHES = st.lists(st.tuples(_WORDS, st.booleans(), st.integers(0, 1)), max_size=8)


@settings(max_examples=100)
@given(batches=_BATCHES, page=st.sampled_from((2, 10_000)), newest=st.sampled_from((2, 16)))
def test_what_is_there_is_not_saved_again(
    daemon: Daemon, batches: list[tuple[list[str], bool, int]], page: int, newest: int
) -> None:
    """A history that overlaps with what is saved, or has all of it, is continued as in the framework's own provider."""

    async def run() -> tuple[list[Any], list[Any]]:
        ours = [ReelHistoryProvider(socket=daemon.socket) for _ in range(2)]
        theirs = InMemoryHistoryProvider()
        session = f"s-{next(_NUMBERS)}"
        state: Json = {}
        for batch, reads, who in batches:
            roles = [("user", None) if word.islower() else ("assistant", word) for word in batch]
            messages = [Message(role, [word], message_id=of) for word, (role, of) in zip(batch, roles, strict=True)]
            if reads:
                await ours[0].get_messages(session)
            await ours[who].save_messages(session, messages)
            await theirs.save_messages(session, messages, state=state)
        found = await ours[0].get_messages(session), await theirs.get_messages(session, state=state)
        for each in ours:
            await each.close()
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("reel.integrations.agent_framework.provider._PAGE", page)
        patched.setattr("reel.integrations.agent_framework.provider._NEWEST", newest)
        ours, theirs = asyncio.run(run())
    assert [message.text for message in theirs] == [message.text for message in ours]


def test_a_run_is_two_requests(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """A session that was read is saved without a question; what others did in between is read first."""
    said = [Message("user", [word]) for word in "abcdefgh"]

    def asks(*messages: Any) -> dict[str, int]:
        before = requests(client)
        save(provider, session, *messages)
        return dict(requests(client) - before)

    save(provider, session, said[0])
    load(provider, session)
    assert {"add": 1} == asks(said[1])
    load(provider, session)
    client.add(name_of(session), "added by a person")
    assert {"add": 2, "messages": 1} == asks(said[2])
    load(provider, session)
    client.undo(name_of(session))
    assert {"add": 2, "messages": 1} == asks(said[3])
    expected = [said[0].text, said[1].text, "added by a person", said[3].text]
    assert expected == [each["contents"][0]["text"] for each in load(provider, session)]


def test_large_messages_are_not_remembered(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """What a provider remembers of many sessions is bounded: it reads a session with large messages again."""
    save(provider, session, Message("user", ["x" * 300_000]))
    load(provider, session)
    before = requests(client)
    save(provider, session, ANSWER)

    assert {"add": 1, "messages": 1} == dict(requests(client) - before)


def test_what_was_taken_back_is_saved_again(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """What was there when the session was read, and is gone when it is saved, is new."""
    save(provider, session, HELLO, ANSWER)
    load(provider, session)
    client.clear(name_of(session))
    save(provider, session, HELLO, ANSWER)
    assert as_maps([HELLO, ANSWER]) == load(provider, session)


@pytest.mark.parametrize("is_purged", [False, True])
def test_a_name_that_has_another_agent(
    provider: ReelHistoryProvider, session: str, client: Client, is_purged: bool
) -> None:
    """What was read of an agent that is gone says nothing about the one that has its name now."""
    save(provider, session, HELLO)
    load(provider, session)
    if is_purged:
        client.purge(name_of(session))
    else:
        client.kill(name_of(session))
    client.create(name_of(session))
    client.add(name_of(session), "another")  # its head is the same

    save(provider, session, HELLO)

    assert ["another", HELLO.text] == [each["contents"][0]["text"] for each in load(provider, session)]
    load(provider, session)
    client.kill(name_of(session))
    with pytest.raises(IntegrationException) as raised:
        save(provider, session, ANSWER)
    assert isinstance(raised.value.__cause__, Killed)


def test_a_backup_is_restored_before_a_run_is_saved(tmp_path: Path) -> None:
    """What was read is not in the backup, and others have written as much since: what they wrote is compared."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        provider = ReelHistoryProvider(socket=daemon.socket)
        save(provider, "s", HELLO)
        with daemon.client() as client:
            client.backup(str(tmp_path / "backup.db"))
        save(provider, "s", ANSWER)
        load(provider, "s")
        daemon.put_back(tmp_path / "backup.db")
        with daemon.client() as client:
            client.add(name_of("s"), "theirs")

        thanks = Message("user", ["Thanks!"])
        save(provider, "s", ANSWER, thanks)
        assert ["theirs", ANSWER.text, thanks.text] == [each["contents"][0]["text"] for each in load(provider, "s")[1:]]
        asyncio.run(provider.close())
        daemon.close()


def test_what_the_framework_does_not_read_does_not_count(
    provider: ReelHistoryProvider, session: str, client: Client
) -> None:
    """A history is continued behind what somebody else thought, too."""
    said = [Message("user", [word], message_id=word) for word in "abcd"]
    save(provider, session, *said[:3])
    thought: Any = {"role": "assistant", "content": [{"type": "thinking", "text": "Hm."}]}
    client.add(name_of(session), [thought] * 3)

    save(provider, session, *said[2:])

    assert as_maps(said) == load(provider, session)


def test_everybody_reads_the_same(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """What the framework saved is messages for everybody, and a request to another provider."""
    save(provider, session, Message("system", ["Be brief."]), HELLO, CALL, RESULT, ANSWER)

    messages = client.messages(name_of(session)).messages
    rendered = client.render(name_of(session), "anthropic", model="claude-opus-5", extra={"max_tokens": 9})

    assert ["user", "user", "assistant", "tool", "assistant"] == [message["role"] for message in messages]
    assert '{"word": "tape deck"}' == messages[2]["content"][0]["arguments"]  # type: ignore[typeddict-item]
    assert "A machine that plays tapes." == messages[3]["content"][0]["content"]  # type: ignore[typeddict-item]
    assert "It plays and records tapes." in rendered.body
    assert [] == [change for change in rendered.report if change.action == "dropped"]


@pytest.mark.filterwarnings("ignore::agent_framework._feature_stage.ExperimentalWarning")
def test_hosted_tools_are_calls_and_results(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """What a hosted tool was asked and returned, in one message of the framework, is a call and a result."""
    hosted = [content for content in contents() if content.type.endswith(("_tool_call", "_tool_result"))]
    save(provider, session, Message("assistant", [*hosted, text("Done.")]))

    found = [block for message in client.messages(name_of(session)).messages for block in message["content"]]
    calls = {block["id"]: (block["name"], block["arguments"]) for block in found if block["type"] == "tool_call"}
    results = {block["tool_call_id"]: block["content"] for block in found if block["type"] == "tool_result"}

    assert {
        "i1": ("code_interpreter", '{"inputs": ["print(1)"]}'),
        "g1": ("image_generation", "{}"),
        "m1": ("query", '{"q": 1}'),
        "w1": ("web_search", '{"q": "tape"}'),
        "b1": ("shell", '{"commands": ["ls", "false"]}'),
        "o1": ("computer", '{"actions": [{"type": "click", "x": 1, "y": 2}]}'),
    } == calls
    assert calls.keys() == results.keys()
    assert '{"hits": [1, 2]}' == results["w1"]
    assert ["text", "media"] == [block["type"] for block in results["i1"]]  # type: ignore[index]
    assert ["a", "no\n(timed out)\n(exit status 1)"] == [block["text"] for block in results["b1"]]  # type: ignore[index, typeddict-item]
    # The call without an id cannot be one.
    assert ["opaque"] == [block["type"] for block in found if block["type"] not in ("tool_call", "tool_result", "text")]
    assert "Done." == found[-1]["text"]  # type: ignore[typeddict-item]


class Parrot(BaseChatClient):  # type: ignore[misc] # the framework's types are not read
    """A model that says how many messages it was sent, and keeps them."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[list[Any]] = []

    async def _inner_get_response(self, *, messages: Any, **more: Any) -> Any:
        del more
        self.sent.append(list(messages))
        return ChatResponse(messages=[Message("assistant", [f"{len(messages)} messages"])], response_id="r")


def test_what_an_editor_adds_is_read(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """The next run of an agent reads what others added and what it said itself; what it cannot read is left out."""
    parrot = Parrot()
    agent = Agent(parrot, context_providers=[provider])
    image: Any = {"type": "media", "mime_type": "image/png", "data_base64": "QUJD", "name": "a.png"}
    call: Any = {"type": "tool_call", "id": "e1", "name": "look", "arguments": "{}"}
    output = [{"type": "text", "text": "ok"}, image]
    result: Any = {"type": "tool_result", "tool_call_id": "e1", "content": output, "is_error": True}

    async def run(words: str) -> None:
        await agent.run(words, session=agent.create_session(session_id=session))

    asyncio.run(run("Hello?"))
    client.add(name_of(session), ["And a reel?", {"role": "user", "content": [image]}])
    thought: Any = {"type": "thinking", "text": "Hm.", "provider": "anthropic"}
    client.add(name_of(session), {"role": "assistant", "content": [thought]})
    client.add(name_of(session), {"role": "assistant", "content": [thought, call]})
    client.add(name_of(session), {"role": "tool", "content": [result]})
    asyncio.run(run("Go on."))

    sent = parrot.sent[1]
    assert ["user", "assistant", "user", "user", "assistant", "tool", "user"] == [message.role for message in sent]
    assert ["Hello?", "1 messages", "And a reel?", "", "", "", "Go on."] == [message.text for message in sent]
    assert ("data:image/png;base64,QUJD", "a.png") == (sent[3].contents[0].uri, sent[3].contents[0].name)
    assert ["function_call"] == [content.type for content in sent[4].contents]
    answer = sent[5].contents[0]
    assert ("e1", "ok", ["text", "data"]) == (answer.call_id, answer.result, [item.type for item in answer.items])
    assert answer.exception


class Caller(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc] # as above
    """A model that calls a tool once, and then repeats what it returned."""

    async def _inner_get_response(self, *, messages: Any, **more: Any) -> Any:
        del more
        last = messages[-1]
        said = last.contents[0].result if last.role == "tool" else Content.from_function_call("c1", "look_up")
        return ChatResponse(messages=[Message("assistant", [said])], response_id="r")


def test_each_step_is_saved_if_asked_for(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """A run that saves each call of the model is in the conversation up to the step that it is at."""
    seen: list[list[str]] = []

    def look_up() -> str:
        """Look a word up."""
        seen.append([message["role"] for message in client.messages(name_of(session)).messages])
        return "A machine."

    each: Json = {"require_per_service_call_history_persistence": True}
    agent = Agent(Caller(), tools=[look_up], context_providers=[provider], **each)
    asyncio.run(agent.run("What is it?", session=agent.create_session(session_id=session)))

    assert [["user", "assistant"]] == seen
    assert ["What is it?", "", "", "A machine."] == [
        message.text for message in asyncio.run(provider.get_messages(session))
    ]


def test_two_runs_of_one_session(provider: ReelHistoryProvider, session: str) -> None:
    """A run stores what was said and answered, as with the framework's own provider, and no message twice."""
    agent = Agent(Parrot(), context_providers=[provider])

    async def run() -> None:
        for _ in range(2):
            await agent.run("Hello?", session=agent.create_session(session_id=session))

    asyncio.run(run())

    assert ["Hello?", "1 messages", "Hello?", "3 messages"] == [
        message["contents"][0]["text"] for message in load(provider, session)
    ]


def test_one_history_saved_by_many(daemon: Daemon, session: str) -> None:
    """Of the same messages that many save at once, each is there once."""
    providers = [ReelHistoryProvider(socket=daemon.socket) for _ in range(8)]

    async def run() -> Any:
        await asyncio.gather(*(one.save_messages(session, [HELLO, ANSWER]) for one in providers))
        found = await providers[0].get_messages(session)
        for one in providers:
            await one.close()
        return found

    assert as_maps([HELLO, ANSWER]) == as_maps(asyncio.run(run()))


def test_a_cancelled_call_is_done(provider: ReelHistoryProvider, session: str) -> None:
    """A call that is cancelled is carried out all the same, and the caller hears of the cancellation after that."""

    async def run() -> Any:
        saving = asyncio.ensure_future(provider.save_messages(session, [HELLO]))
        await asyncio.sleep(0)
        saving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await saving
        return await provider.get_messages(session)

    assert as_maps([HELLO]) == as_maps(asyncio.run(run()))


def test_the_daemon_is_killed_and_restarted(provider: ReelHistoryProvider, daemon: Daemon, session: str) -> None:
    """Calls during a restart wait for it."""
    save(provider, session, HELLO)
    daemon.process.kill()
    daemon.process.wait()

    async def run() -> None:
        saving = asyncio.ensure_future(provider.save_messages(session, [CALL]))
        await asyncio.to_thread(daemon.start)
        await saving

    asyncio.run(run())

    assert as_maps([HELLO, CALL]) == load(provider, session)


def test_interrupted_between_call_and_result(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """A session that ends with a call can be loaded; the daemon says that the call is open."""
    save(provider, session, HELLO, CALL)

    assert as_maps([HELLO, CALL]) == load(provider, session)
    assert [("c1", "look_up")] == [(call.id, call.name) for call in client.open_calls(name_of(session))]


def test_clear_keeps_the_log(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """A cleared session is empty, and one undo brings everything back."""
    save(provider, session, HELLO, ANSWER)
    asyncio.run(provider.clear(session))
    assert [] == load(provider, session)

    client.undo(name_of(session))

    assert as_maps([HELLO, ANSWER]) == load(provider, session)


def test_messages_marked_as_excluded(daemon: Daemon, session: str) -> None:
    """They are left out if that is asked for."""
    provider = ReelHistoryProvider("other", socket=daemon.socket, skip_excluded=True)
    save(provider, session, Message("user", ["old"], additional_properties={"_excluded": True}), HELLO)

    assert as_maps([HELLO]) == load(provider, session)
    asyncio.run(provider.close())


def test_a_session_without_an_id(provider: ReelHistoryProvider, client: Client) -> None:
    """It is the session ``default``, as with the framework's own provider of files."""
    save(provider, None, HELLO)

    assert load(provider, None) == load(provider, "") == load(provider, "default") == as_maps([HELLO])
    assert client.agent("agent-framework/default")


@pytest.mark.parametrize("session_id", ["x" * 10_000, "a\0b", "🎞 tape", "\ud800", "sha256-1", "01a2 \n"])
def test_an_id_that_is_not_a_name(session_id: str, provider: ReelHistoryProvider, client: Client) -> None:
    """The agent's name ends with a hash of such an id, and a tag has the beginning of the id."""
    save(provider, session_id, HELLO)

    found = [row for row in client.iter_agents(prefix="agent-framework/sha256-") if row.tags]
    wanted = session_id[:1024].translate({0: "\ufffd", 10: "\ufffd", 0xD800: "\ufffd"})
    assert as_maps([HELLO]) == load(provider, session_id)
    assert wanted in [row.tags["session_id"] for row in found]


def test_a_prefix_for_each_provider(daemon: Daemon, client: Client, session: str) -> None:
    """Two providers with different prefixes do not see each other's messages; an id may have slashes."""
    providers = [ReelHistoryProvider(who, socket=daemon.socket, prefix=f"{who}/") for who in ("main", "audit")]
    for provider in providers:
        save(provider, f"{session}/a", Message("user", [provider.source_id]))

    assert ["main", "audit"] == [
        message["contents"][0]["text"] for provider in providers for message in load(provider, f"{session}/a")
    ]
    assert client.agent(f"audit/{session}/a")
    for provider in providers:
        asyncio.run(provider.close())


def test_what_is_refused(provider: ReelHistoryProvider, session: str, client: Client) -> None:
    """The framework's exceptions say what was wrong; nothing is added, and no agent is made."""
    endless: list[Any] = []
    endless.append(endless)
    for bad, why in (
        ("Hello?", "got a str"),
        (Message("user", [text("x", additional_properties={"x": endless})]), "JSON"),
    ):
        with pytest.raises(IntegrationInvalidRequestException, match=rf"messages\[1\].*{why}"):
            save(provider, session, HELLO, bad)
    with pytest.raises(IntegrationInvalidRequestException, match="session_id: expected a string, got a int"):
        asyncio.run(provider.get_messages(1))  # type: ignore[arg-type]
    with pytest.raises(IntegrationInvalidRequestException, match="too_large") as large:
        save(provider, session, HELLO, Message("user", ["x" * (17 << 20)]))
    assert isinstance(large.value.__cause__, TooLarge)
    with pytest.raises(ValueError, match="prefix: "):
        ReelHistoryProvider(prefix=" ")
    assert [] == [*client.iter_agents(prefix=name_of(session))]
    save(provider, session, HELLO)
    client.kill(name_of(session))
    assert as_maps([HELLO]) == load(provider, session)
    with pytest.raises(IntegrationException, match="killed") as caught:
        save(provider, session, ANSWER)
    assert isinstance(caught.value.__cause__, Killed)


def test_no_daemon() -> None:
    """The error says that no daemon answers on the socket."""
    with pytest.raises(IntegrationException, match="/nowhere") as caught:
        asyncio.run(ReelHistoryProvider(socket="/nowhere").get_messages("s"))
    assert isinstance(caught.value.__cause__, NotRunning)
