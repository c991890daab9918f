"""Which other messages of a log say what an imported one says."""

import json
from pathlib import Path
from typing import Any

import pytest

from reel.importing.adding.target import CLIENT
from reel.importing.adding.versions import Versions
from reel.importing.sources import unfinished
from reel.sync.client import Client
from tests.reel.importing.adding.test_growing import STORIES, Import

# What one answer of each says, in its first parts and as a whole.
WORDS = {
    "claude-code": "I look.",
    "crush": "I look.",
    "gemini-cli": "I look.",
    "kimi-code": "I look.",
    "opencode": "0 Tw",
    "openhands": "I look.",
    "vscode-chat": "Tw",
}


def versions_of(events: dict[int, Any]) -> Versions:
    """Return what knows the versions of the messages of a log, whose events are given by their seqs."""
    versions = Versions(lambda _log, seq: events[seq])
    versions.take("a", events.values())
    return versions


@pytest.mark.parametrize("name", WORDS)
def test_an_answer_that_grew(name: str, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its versions are all messages with its words, whichever of them is given: that of the conversation or another."""
    monkeypatch.setattr(unfinished, "LEFT", -unfinished.LEFT)
    tool, story = STORIES[name]
    (tmp_path / "root").mkdir()
    watch = Import(client, tool, tmp_path / "root", tmp_path / "seen")
    for _ in story(tmp_path / "root", f"version-{name}"):
        watch.look()
    (agent,) = (row.name for row in client.iter_agents(prefix=f"{tool}/"))
    events = {event["seq"]: event for event in client.iter_history(agent)}
    live = {record["seq"] for record in client.iter_conversation(agent)}
    watch.purge(f"{tool}/")

    versions = versions_of(events)
    said = {seq for seq, event in events.items() if event["kind"] == "assistant" and WORDS[name] in json.dumps(event)}
    assert 1 == len(said & live) < len(said)
    assert said - live <= {*versions.of("a", said & live)["a"]}
    assert said & live <= {*versions.of("a", [min(said - live)])["a"]}


def event(seq: int, parent: int | None, ref: str, said: str, kind: str = "assistant", client: str = CLIENT) -> Any:
    """Return an event of a log with a message."""
    above = None if parent is None else {"agent": "a", "seq": parent}
    return {
        "agent": "a",
        "seq": seq,
        "kind": kind,
        "parent": above,
        "ref": ref,
        "content": said,
        "data_json": None,
        "client": client,
    }


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([event(4, 2, "a2", "It is hunter2, I think")], [4]),  # more of it
        ([event(4, 2, "a2", "It")], [4]),
        ([event(4, 2, "a2", "It was")], []),  # another answer to the same prompt
        ([event(4, 3, "a2", "It is hunter2")], []),  # the same words at another place
        ([event(4, 2, "a2", "It is hunter2", "user")], []),
        ([event(4, 2, "a2", "It is hunter2", client="me")], []),
        ([event(4, 3, "a1~3", "Anything")], [4]),  # the same id
        ([event(4, 3, "a1@summary", "It is hunter2")], [4]),  # said again
        ([event(4, 3, "a1~1@a7", "It is")], [4]),
        ([event(4, 3, "a1@work", "Anything"), event(5, 4, "a1@work@summary", "Anything")], [4, 5]),
        ([event(4, 3, "b@work", "Other"), event(5, 4, "b@rest", "More")], []),
        ([event(4, 2, "a0", "It"), event(5, 2, "a2", "It was")], [4]),  # may be a part of either
        ([event(4, 3, "u1@s", "Ask", "user"), event(5, 4, "a2", "It is")], [5]),  # after what was said again
        ([event(4, 2, "a2", "")], []),
    ],
)
def test_versions(others: list[Any], expected: list[int]) -> None:
    """What has the same id, or says a part of it or more at the same place, is a version of a message."""
    begun = [event(2, None, "u1", "Ask", "user"), event(3, 2, "a1", "It is hunter2")]
    events = {one["seq"]: one for one in [*begun, *others]}

    assert expected == versions_of(events).of("a", [3]).get("a", [])


def test_versions_of_a_prompt() -> None:
    """A person who asks again at the same place says something else, although it begins alike."""
    events = {2: event(2, None, "u1", "Ask", "user"), 3: event(3, None, "u2", "Ask him", "user")}

    assert {} == versions_of(events).of("a", [2, 9])


def test_versions_in_another_log() -> None:
    """What another log has of its own is told by that log; what both have is not told twice."""
    begun = [event(2, None, "u1", "Ask", "user"), event(3, 2, "a1", "It is")]
    own = {**event(4, 2, "a2", "It is hunter2"), "agent": "b"}
    logs = {"a": begun, "b": [*begun, own]}
    versions = Versions(lambda log, seq: next(event for event in logs[log] if event["seq"] == seq))
    for log, events in logs.items():
        versions.take(log, events)

    assert {"b": [4]} == versions.of("a", [3])
    assert {"a": [3]} == versions.of("b", [4])
