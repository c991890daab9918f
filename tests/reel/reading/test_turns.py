"""Where the newest turn of a conversation begins, and what is taken back with it."""

import json
from typing import Any

import pytest

from reel.base.errors import Conflict, NothingToUndo
from reel.reading.turns import added_by, beginning, is_said_again, newest_question, newest_summary, until
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.reel.both_clients import CLIENTS, Awaited, runner

_APPROVED = {"type": "opaque", "provider": "x", "data_json": "{}"}
_TEXT = {"type": "text", "text": "x"}
# Who says something: a letter is a message.
_LETTERS: dict[str, dict[str, Any]] = {
    "u": {"role": "user", "content": [_TEXT]},
    "f": {"role": "user", "content": [{"type": "media", "mime_type": "image/png", "url": "https://x"}]},
    "o": {"role": "user", "content": [_APPROVED]},
    "i": {"role": "user", "content": [_TEXT], "provider_metadata": {"role": "developer"}},
    "s": {"role": "user", "content": [_TEXT], "provider_metadata": {"compacted": True}},
    "e": {"role": "user", "content": [_TEXT], "provider_metadata": {"compacted": False}},
    "a": {"role": "assistant", "content": [_TEXT]},
    "t": {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c", "content": ""}]},
}


def conversation(letters: str) -> list[Any]:
    """Return messages with the seqs 1, 2, …"""
    return [
        {"provider_metadata": {}, "seq": seq, "time": 5, **_LETTERS[letter]} for seq, letter in enumerate(letters, 1)
    ]


@pytest.mark.parametrize(
    ("letters", "question"),
    [
        ("ua", [1]),
        ("uaua", [3]),
        ("uau", [3]),
        ("uaf", [3]),
        # An approval, a result and an instruction continue a turn.
        ("uatoa", [1]),
        ("uaia", [1]),
        # What the user's side says right before may be a part of it.
        ("uaiua", [4, 3]),
        ("uuua", [3, 2, 1]),
        # A summary is no question, and stays.
        ("sua", [2]),
        ("sa", []),
        # A subgraph's summary is no question, and replaces no message.
        ("uea", [1]),
        ("aa", []),
        ("", []),
    ],
)
def test_the_newest_question(letters: str, question: list[int]) -> None:
    """It is the newest message in which a person says something; those of the user's before it are candidates."""
    assert question == [message["seq"] for message in newest_question(conversation(letters))]


@pytest.mark.parametrize(("letters", "seq"), [("sa", 1), ("ssa", 2), ("ua", None)])
def test_the_newest_summary(letters: str, seq: int | None) -> None:
    """It stands for what was said before it."""
    found = newest_summary(conversation(letters))
    assert seq == (found and found["seq"])


@pytest.mark.parametrize(("commands", "first"), [([1, 1, 1], 1), ([1, 2, 2], 2), ([1, 2, 3], 3), ([1, 1, 3], 3)])
def test_what_was_added_together(commands: list[int], first: int) -> None:
    """A question begins with the messages of its own command."""
    question = newest_question(conversation("uuu"))
    log: list[Any] = [
        {"agent": "a", "seq": seq, "time": 5, "command": command} for seq, command in enumerate(commands, 1)
    ]
    assert first == beginning(question, log)


def test_a_message_that_is_not_in_the_log() -> None:
    """What a clone into an agent brought has seqs that others have in its log; it is taken back by itself."""
    question = newest_question(conversation("uu"))
    log: list[Any] = [{"agent": "a", "seq": seq, "time": 7, "command": 1} for seq in (1, 2)]
    assert 2 == beginning(question, log)


@pytest.mark.parametrize(
    ("data", "is_of_graph"),
    [({"langgraph": {"put": "1f", "ns": ""}}, True), ({"langgraph": {"to": "1f"}}, False), ({"name": "undo"}, False)],
)
def test_what_a_graph_has_put(data: Any, *, is_of_graph: bool) -> None:
    """The command that added a question has the state of a graph, or it has not; a clone brought the question."""
    (question,) = conversation("u")
    said = {"agent": "a", "seq": 1, "time": 5, "command": 4, "kind": "user", "data_json": None}
    log: list[Any] = [said, {**said, "seq": 2, "kind": "command", "data_json": json.dumps(data)}]
    assert (4, is_of_graph) == added_by(question, log)
    other: Any = {**question, "time": 7}
    assert added_by(other, log) is None
    log[1]["command"] = 6
    assert (4, False) == added_by(question, log)


def test_a_question_that_is_said_again() -> None:
    """A framework that stores a message twice has the same id for it; what it copies does not matter."""
    (question,) = conversation("u")
    stored: list[Any] = [
        {**question, "provider_metadata": {"item": {"form": {"id": name}, "copies": copies}}}
        for name, copies in (("i", [1]), ("i", [2]), ("j", [1]))
    ]
    first, second, third = stored
    assert is_said_again(first, second)
    assert not is_said_again(first, third)
    later: Any = {**question, "seq": 9}
    assert is_said_again(question, later)
    # Others said it, so what it was first has nothing of the framework.
    assert is_said_again(first, later)
    other: Any = {**later, "content": []}
    assert not is_said_again(first, other)


def test_messages_up_to_a_question() -> None:
    """It may be stored in another copy; the newest one counts."""
    said = conversation("uaufa")
    copy: Any = {**said[0], "seq": 9}
    assert said[:3] == until(copy, said)
    other: Any = {**copy, "role": "tool"}
    assert [] == until(other, said)


@pytest.fixture
def name(client: Client) -> str:
    """The name of a new agent."""
    return client.create().name


def _turn(client: Client, name: str, question: str, *, steps: int = 3) -> None:
    client.add(name, question)
    for step in range(steps):
        client.add(name, [{"role": "assistant", "content": f"step {step}"}])


def _said(client: Client, name: str) -> list[Any]:
    return [block.get("text") for message in client.iter_messages(name) for block in message["content"]]


def test_a_turn_is_taken_back_at_once(client: Client, name: str) -> None:
    """However many commands have stored it; undo brings it back, and the next one takes back the turn before it."""
    _turn(client, name, "one")
    _turn(client, name, "two", steps=50)
    before = _said(client, name)

    taken = client.undo_turn(name)

    assert (before[:4], before[4:]) == (_said(client, name), before[4:])
    assert (6, 51) == (taken.first, taken.dropped)
    client.undo(name)
    assert before == _said(client, name)
    client.undo_turn(name)
    client.undo_turn(name)
    assert [] == _said(client, name)
    with pytest.raises(NothingToUndo, match="no question to take back"):
        client.undo_turn(name)


def test_a_turn_of_a_clone(client: Client, name: str) -> None:
    """A turn that a clone has inherited leaves the clone, and stays with its source."""
    _turn(client, name, "one")
    client.add(name, [{"role": "user", "content": "two"}, {"role": "user", "content": "and three"}])
    clone = client.clone(name).id

    client.undo_turn(clone)

    assert _said(client, name)[:4] == _said(client, clone)
    client.undo_turn(clone)
    assert [] == _said(client, clone)


def test_a_turn_that_a_clone_brought(client: Client, name: str) -> None:
    """A question whose seq is that of another message in the log is taken back as others are."""
    _turn(client, name, "one")
    _turn(client, name, "two")
    other = client.create().id
    client.add(other, [{"role": "assistant", "content": "before"}] * 20)
    client.clone(name, into=other)

    assert 4 == client.undo_turn(other).dropped
    assert _said(client, name)[:4] == _said(client, other)


def test_a_turn_that_begins_where_the_first_look_ends(client: Client, name: str) -> None:
    """What was added together with the question is taken back with it, wherever it is."""
    client.add(name, [{"role": "user", "content": "one"}, {"role": "user", "content": "and two"}])
    client.add(name, [{"role": "assistant", "content": "answer"}] * 31)
    assert 33 == client.undo_turn(name).dropped


def test_somebody_has_written_since(client: Client, name: str) -> None:
    """Nothing that was not seen is taken back."""
    _turn(client, name, "one")
    head = client.agent(name).head
    _turn(client, name, "two")
    before = _said(client, name)
    with pytest.raises(Conflict):
        client.undo_turn(name, if_seq=head)
    assert before == _said(client, name)


@pytest.mark.parametrize("which", CLIENTS)
def test_with_each_client(daemon: Daemon, name: str, which: str) -> None:
    """Each of them has the method."""

    async def scenario(client: Any) -> Any:
        await client.add(name, "one")
        return await client.undo_turn(name)

    assert 1 == runner(which, daemon, Awaited)(scenario).dropped
