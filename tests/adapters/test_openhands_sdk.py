"""A conversation of the OpenHands SDK is an agent: its events come back as they were, whoever else writes."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

import reel
from reel.base.errors import Killed
from reel.reading.approvals import KINDS, asked_for
from reel.sync.client import Client
from tests.counted.requests import requests
from tests.daemon import Daemon

if tuple(sys.version_info) < (3, 12):
    pytest.skip("the OpenHands SDK needs Python 3.12", allow_module_level=True)
pytest.importorskip("openhands.sdk", reason="openhands-sdk is not installed")

from openhands.sdk import Agent
from openhands.sdk.conversation.event_store import EventLog
from openhands.sdk.conversation.state import ConversationExecutionStatus
from openhands.sdk.event import Event, MessageEvent
from openhands.sdk.io import InMemoryFileStore
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.security.confirmation_policy import AlwaysConfirm
from openhands.sdk.testing import TestLLM
from openhands.sdk.tool import Action, Observation, Tool, ToolDefinition, register_tool

from reel.integrations.openhands_sdk import ReelConversation, ReelFileStore
from reel.integrations.openhands_sdk.state import state_of, values_of

pytestmark = [pytest.mark.filterwarnings("ignore")]
# The conversations of a test.
_MADE: list[Any] = []


@pytest.fixture
def session() -> UUID:
    """The id of a conversation that nobody has used."""
    return uuid4()


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Close the conversations of a test."""
    yield
    while _MADE:
        _MADE.pop().close()


@pytest.fixture
def store(daemon: Daemon, session: UUID) -> Iterator[ReelFileStore]:
    made = ReelFileStore(session, socket=daemon.socket)
    yield made
    made.close()


def words(text: str) -> Message:
    return Message(role="assistant", content=[TextContent(text=text)])


def thinks(call_id: str, thought: str) -> Message:
    call = MessageToolCall(id=call_id, name="think", arguments=json.dumps({"thought": thought}), origin="completion")
    return Message(role="assistant", content=[], tool_calls=[call])


class RemoveAction(Action):  # type: ignore[misc]  # the SDK's types are not read
    """What a tool is told."""


class RemoveObservation(Observation):  # type: ignore[misc]
    """What it would say."""


class Remove(ToolDefinition):  # type: ignore[misc]
    """A tool that a person has to confirm; it is never run."""

    @classmethod
    def create(cls, *_args: Any, **_more: Any) -> list[Any]:
        """Return the tool."""
        return [cls(description="Remove it.", action_type=RemoveAction, observation_type=RemoveObservation)]


register_tool("remove", Remove)


def conversation_of(
    daemon: Daemon, session: UUID, directory: Path, *answers: Message, tools: Sequence[Any] = ()
) -> ReelConversation:
    """Return a conversation as a new process makes it."""
    agent = Agent(llm=TestLLM.from_messages([*answers]), tools=[*tools])
    made = ReelConversation(agent, directory, conversation_id=session, socket=daemon.socket, visualizer=None)
    _MADE.append(made)
    return made


def dumped(conversation: ReelConversation) -> list[Any]:
    return [event.model_dump(mode="json") for event in conversation.state.events]


def sent(conversation: ReelConversation) -> list[tuple[str, str]]:
    """Return what the model gets, without the prompt: the role, and the text or the calls."""
    messages = [event.to_llm_message() for event in conversation.state.view.events][1:]
    return [
        (
            message.role,
            " ".join(getattr(part, "text", "(a picture)") for part in message.content)
            or ",".join(call.id for call in message.tool_calls or ()),
        )
        for message in messages
    ]


def test_a_conversation_goes_on(daemon: Daemon, client: Client, session: UUID, tmp_path: Path) -> None:
    """The next process has all events, deeply equal, and the state; others see words, calls and results."""
    first = conversation_of(daemon, session, tmp_path, thinks("c1", "a machine"), words("It plays tapes."))
    first.send_message("What is a tape deck?")
    first.run()

    again = conversation_of(daemon, session, tmp_path, words("Yes."))

    assert dumped(first) == dumped(again)
    # What is null is not in their file either, and is the default when it is read.
    assert first.state.model_dump(exclude={"persistence_dir"}) == again.state.model_dump(exclude={"persistence_dir"})
    again.send_message("Are you sure?")
    again.run()
    stored: Any = [(message["role"], message["content"][0]) for message in client.iter_messages(first.agent_name)][1:]
    assert ["user", "assistant", "tool", "assistant", "user", "assistant"] == [role for role, _ in stored]
    assert ("think", "c1") == (stored[1][1]["name"], stored[2][1]["tool_call_id"])
    assert "Yes." == stored[5][1]["text"]
    prompt = first.state.events[0].to_llm_message().content[0].text
    assert prompt in (client.messages(first.agent_name).system or "")


def test_what_others_say_and_take_back(daemon: Daemon, client: Client, session: UUID, tmp_path: Path) -> None:
    """A running conversation has what others have said or taken back before its next message or run."""
    talk = conversation_of(daemon, session, tmp_path, words("one"), words("two"), words("three"))
    talk.send_message("first")
    talk.run()
    client.add(talk.agent_name, "by another")
    talk.run()

    assert [("user", "first"), ("assistant", "one"), ("user", "by another"), ("assistant", "two")] == sent(talk)
    client.undo_turn(talk.agent_name)
    talk.send_message("again")
    talk.run()
    assert [("user", "first"), ("assistant", "one"), ("user", "again"), ("assistant", "three")] == sent(talk)
    assert sent(talk) == sent(conversation_of(daemon, session, tmp_path))
    assert dumped(talk) == dumped(conversation_of(daemon, session, tmp_path))


def test_requests(daemon: Daemon, client: Client, session: UUID, tmp_path: Path) -> None:
    """To load what others have added takes as many requests however much it is."""
    talk = conversation_of(daemon, session, tmp_path, words("one"))
    talk.send_message("first")
    talk.run()

    def asked(others: int) -> dict[str, int]:
        client.add(talk.agent_name, ["by another"] * others)
        before = requests(client)
        conversation_of(daemon, session, tmp_path)
        return dict(requests(client) - before)

    asked(1)  # the state of a new agent is written once
    assert asked(3) == asked(60)


def test_a_turn_reads_nothing(daemon: Daemon, client: Client, session: UUID, tmp_path: Path) -> None:
    """A turn asks only for what it writes: its two messages, and the state three times."""
    talk = conversation_of(daemon, session, tmp_path, words("one"), words("two"))
    talk.send_message("first")
    talk.run()
    before = requests(client)

    talk.send_message("second")
    talk.run()

    assert {"add": 5} == dict(requests(client) - before)
    assert dumped(talk) == dumped(conversation_of(daemon, session, tmp_path))


def test_what_was_written_is_as_others_read_it(daemon: Daemon, store: ReelFileStore, session: UUID) -> None:
    """A process keeps what it writes as any other reads it, half of a pair of surrogates as well."""
    other = ReelFileStore(session, socket=daemon.socket)
    _MADE.append(other)
    for number, text in enumerate(("whole", "half \ud83d", "whole again")):
        said = {"role": "user", "content": [{"type": "text", "text": text}]}
        event = {"kind": "MessageEvent", "source": "user", "id": f"{number:08}", "llm_message": said}
        path = f"events/event-{number:05}-{number:08}.json"
        store.write(path, json.dumps(event))
        assert other.read(path) == store.read(path)


def test_a_call_of_others(daemon: Daemon, client: Client, session: UUID, tmp_path: Path) -> None:
    """Calls and results of others are calls and results, and what is between the two comes after the result."""
    talk = conversation_of(daemon, session, tmp_path, words("one"), words("two"))
    talk.send_message("first")
    talk.run()
    picture: Any = {"type": "media", "mime_type": "image/png", "data_base64": "iVBORw0KGgo="}
    call: Any = {"type": "tool_call", "id": "x1", "name": "look", "arguments": "{}"}
    thought: Any = {"type": "text", "text": "let me see"}
    client.add(
        talk.agent_name, [{"role": "user", "content": [picture]}, {"role": "assistant", "content": [thought, call]}]
    )
    client.add(talk.agent_name, "meanwhile")
    client.add(talk.agent_name, [reel.tool_result("x1", "a deck")])
    talk.run()

    said = sent(talk)
    assert [("user", "first"), ("assistant", "one")] == said[:2]
    assert "image" == talk.state.view.events[3].llm_message.content[0].type
    assert [("assistant", "let me see"), ("tool", "a deck"), ("user", "meanwhile"), ("assistant", "two")] == said[3:]


def test_a_conversation_of_others(daemon: Daemon, client: Client, session: UUID, tmp_path: Path) -> None:
    """A conversation that was begun in an editor goes on, after the framework's prompt; so does a clone."""
    client.create(f"openhands/{session}")
    client.add(f"openhands/{session}", "begun by another")
    talk = conversation_of(daemon, session, tmp_path, words("one"), words("two"))
    talk.run()

    assert [("user", "begun by another"), ("assistant", "one")] == sent(talk)
    other = uuid4()
    client.clone(talk.agent_name, f"openhands/{other}")
    clone = conversation_of(daemon, other, tmp_path, words("three"))
    assert sent(talk) == sent(clone)
    clone.send_message("here")
    clone.run()
    assert [*sent(talk), ("user", "here"), ("assistant", "three")] == sent(clone)
    assert sent(clone) == sent(conversation_of(daemon, other, tmp_path))


def test_redaction(daemon: Daemon, client: Client, session: UUID, tmp_path: Path) -> None:
    """What is redacted is in no event any more, and the conversation goes on."""
    talk = conversation_of(daemon, session, tmp_path, words("one"), words("two"))
    talk.send_message("my password is hunter2")
    talk.run()
    (seq,) = [message["seq"] for message in client.iter_messages(talk.agent_name) if "hunter2" in str(message)]
    client.redact(talk.agent_name, seqs=[seq])
    again = conversation_of(daemon, session, tmp_path, words("two"))
    again.send_message("go on")
    again.run()

    assert "hunter2" not in str(dumped(again))
    assert ["user", "assistant", "user", "assistant"] == [role for role, _ in sent(again)]
    assert [] == [event["seq"] for event in client.iter_history(talk.agent_name) if "hunter2" in str(event)]


def test_two_processes(daemon: Daemon, session: UUID, tmp_path: Path) -> None:
    """Two programs with one conversation lose nothing, and each has what the other has said."""
    one = conversation_of(daemon, session, tmp_path, words("a1"), words("a2"))
    one.send_message("q1")
    one.run()
    two = conversation_of(daemon, session, tmp_path, words("b1"))
    two.send_message("q2")
    two.run()
    one.send_message("q3")
    one.run()

    assert ["q1", "a1", "q2", "b1", "q3", "a2"] == [text for _, text in sent(one)]
    assert dumped(one) == dumped(conversation_of(daemon, session, tmp_path))


def put_anew(client: Client, agent: str) -> None:
    """Put a summary where the prompt is, and the rest of the messages after it."""
    first, *rest = client.messages(agent).messages
    kept: Any = [{key: message[key] for key in ("role", "content", "provider_metadata")} for message in rest]
    client.add(agent, [{"role": "user", "content": "In short."}, *kept], from_=first["seq"])


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("is_cleared", [False, True])
def test_a_prompt_that_is_taken_away(
    daemon: Daemon, client: Client, session: UUID, tmp_path: Path, *, is_cleared: bool, is_new: bool
) -> None:
    """The framework writes its prompt again, also in the next process; what others have left follows it."""
    talk = conversation_of(daemon, session, tmp_path, words("a1"), words("a2"))
    talk.send_message("q1")
    talk.run()
    left = [] if is_cleared else [("user", "In short."), ("user", "q1"), ("assistant", "a1")]
    if is_cleared:
        client.clear(talk.agent_name)
    else:
        put_anew(client, talk.agent_name)

    if is_new:
        talk = conversation_of(daemon, session, tmp_path, words("a2"))
    talk.send_message("q2")
    talk.run()

    for each in (talk, conversation_of(daemon, session, tmp_path)):
        assert [*left, ("user", "q2"), ("assistant", "a2")] == sent(each)
        assert "SystemPromptEvent" == dumped(each)[0]["kind"]


def test_an_approval(daemon: Daemon, client: Client, session: UUID, tmp_path: Path) -> None:
    """That a call waits for a person's confirmation is a value beside the conversation, which others read.

    Who takes back the turn ends the waiting, here and in the next process.
    """
    call = MessageToolCall(id="c1", name="remove", arguments="{}", origin="completion")
    asking = Message(role="assistant", content=[], tool_calls=[call])

    def new(*answers: Message) -> ReelConversation:
        return conversation_of(daemon, session, tmp_path, *answers, tools=[Tool(name="remove")])

    talk = new(asking)
    talk.set_confirmation_policy(AlwaysConfirm())
    talk.send_message("Remove it.")
    talk.run()
    waiting, idle = ConversationExecutionStatus.WAITING_FOR_CONFIRMATION, ConversationExecutionStatus.IDLE
    assert waiting == talk.state.execution_status == new().state.execution_status
    records = client.history(talk.agent_name, kinds=KINDS, live=True).events
    assert "remove" == asked_for([], [("c1", "remove")], records)

    client.undo_turn(talk.agent_name)
    assert idle == new().state.execution_status
    talk.refresh()
    assert idle == talk.state.execution_status
    client.undo(talk.agent_name)
    talk.run()  # it is not confirmed by that
    assert waiting == talk.state.execution_status == new().state.execution_status
    assert "ActionEvent" == dumped(talk)[-1]["kind"]

    put_anew(client, talk.agent_name)
    again = new()
    assert waiting == again.state.execution_status
    again.refresh()
    assert waiting == again.state.execution_status


def test_files(store: ReelFileStore) -> None:
    """The files are what the framework's own store has; what is derived from them is not stored."""
    theirs = InMemoryFileStore()
    logs = [EventLog(store), EventLog(theirs)]
    made = [MessageEvent(source="user", llm_message=Message(role="user", content=[TextContent(text=t)])) for t in "ab"]
    for log in logs:
        for event in made:
            log.append(event)

    assert sorted(path for path in theirs.list("events") if ".marker" not in path) == sorted(store.list("events"))
    path = store.list("events")[1]
    assert json.loads(theirs.read(path)) == json.loads(store.read(path))
    assert [event.id for event in logs[1]] == [event.id for event in EventLog(store)]
    assert store.exists(path)
    assert store.exists("events")
    assert store.exists("events/.eventlog-len-2.marker")
    assert not store.exists("events/.eventlog-len-1.marker")
    assert ["events/"] == store.list("")
    assert [path] == store.list(path)
    assert [] == store.list("other")
    with pytest.raises(FileNotFoundError):
        store.read("base_state.json")
    with pytest.raises(FileNotFoundError):
        store.read("events/event-00007-00000000-0000.json")
    with pytest.raises(ValueError, match="has an event with the id"):
        store.write(path, store.read(path))
    with pytest.raises(ValueError, match="only events and the state"):
        store.write("notes.txt", "x")
    with pytest.raises(ValueError, match="reel purge"):
        store.delete(path)
    store.delete("events/.eventlog-len-2.marker")
    assert store.get_absolute_path("events").endswith(f"{store.agent_name}/events")


def test_a_killed_agent(client: Client, store: ReelFileStore) -> None:
    """A killed agent can be read; who writes is told."""
    store.write("base_state.json", '{"id": "1", "tags": {"a": "b"}}')
    client.kill(store.agent_name)

    assert {"a": "b"} == json.loads(store.read("base_state.json"))["tags"]
    with pytest.raises(Killed):
        store.write("base_state.json", '{"id": "2"}')


def test_the_state_in_values(client: Client, session: UUID, store: ReelFileStore) -> None:
    """Of the state only what has changed is written, and of the statistics the last few calls of the model."""
    costs: list[Any] = []
    metrics = {"a:b": {"cost": 0.1, "costs": costs}}
    state: Any = {"id": str(session), "agent": {"prompt": "x" * 10_000}, "stats": {"usage_to_metrics": metrics}}
    for number in range(45):
        costs.append({"cost": number})
        store.write("base_state.json", json.dumps(state))

    assert state == json.loads(store.read("base_state.json"))
    assert state == state_of(values_of(state))
    sizes = [len(event["data_json"] or "") for event in client.history(store.agent_name, kinds=["state"]).events]
    assert 1 == len([size for size in sizes if size > 1_000])
    del state["agent"]
    store.write("base_state.json", json.dumps(state))
    assert state == json.loads(store.read("base_state.json"))


def test_unknown_events_are_kept(store: ReelFileStore, client: Client) -> None:
    """An event without words is a block that no model gets, and comes back whole."""
    event = {"kind": "PauseEvent", "id": str(uuid4()), "timestamp": "2026-01-01T00:00:00", "source": "user"}
    store.write(f"events/event-00000-{event['id']}.json", json.dumps(event))

    assert event == json.loads(store.read(store.list("events")[0]))
    assert isinstance(Event.model_validate_json(store.read(store.list("events")[0])), Event)
    (message,) = client.iter_messages(store.agent_name)
    block: Any = message["content"][0]
    assert {"kind": "PauseEvent"} == json.loads(block["data_json"])
