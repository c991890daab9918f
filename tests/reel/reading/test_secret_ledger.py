"""Where secrets are in logs, and which of them an answer follows."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.reading.secret_ledger import Ledger, Secret, secrets_of

KEYS = [f"ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5z{number:02}" for number in range(3)]
MASKED = "[masked:jwt.0123456789abcdef]"


def fingerprint(secret: str) -> str:
    """Return the end of a secret."""
    return secret[-2:]


def event(
    seq: int, kind: str, content: str | None, parent: tuple[str, int] | None = None, agent: str = "a", **more: Any
) -> Any:
    """Return an event of a log; its parent is the one before it unless another one is given."""
    parent = parent or ((agent, seq - 1) if seq > 1 else None)
    place = None if parent is None else {"agent": parent[0], "seq": parent[1]}
    return {"agent": agent, "seq": seq, "kind": kind, "content": content, "parent": place, "time": seq, **more}


def read(*events: Any) -> Ledger:
    """Return what is known after these events."""
    ledger = Ledger(fingerprint)
    for one in events:
        ledger.take(one["agent"], one)
    return ledger


def sent(ledger: Ledger) -> dict[tuple[str, int], bool]:
    """Return which events with secrets were sent."""
    return {place: sighting.sent for _, place, sighting in ledger.sightings()}


def test_secrets_of_an_event() -> None:
    """Those of its text and of its data are found, and marks, each once; with an original time it has that."""
    found = event(1, "user", f"{KEYS[0]} {KEYS[0]} {MASKED}", data_json=json.dumps({"a": [KEYS[1]]}), sent=7)
    ((reader, place, sighting),) = read(found).sightings()

    expected = {
        Secret("jwt", "0123456789abcdef", masked=True),
        *(Secret("github-token", n, masked=False) for n in ("00", "01")),
    }
    assert expected == set(secrets_of(found, fingerprint)) == set(sighting.secrets)
    assert ("a", ("a", 1), 7) == (reader, place, sighting.time)


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ([event(2, "assistant", "No")], True),
        ([event(2, "tool_result", "1"), event(3, "user", "So?"), event(4, "assistant", "No")], True),
        ([event(2, "user", "So?")], False),
        ([event(2, "note", "x"), event(3, "usage", None)], False),
        # The message was replaced before an answer came, or another conversation was answered.
        ([event(2, "rewind", None, None), event(3, "user", "x", ("b", 9)), event(4, "assistant", "No")], False),
        # What was answered stands in the log between messages that lead to the secret.
        (
            [
                *(event(2, "user", "x"), event(3, "user", "y", ("b", 9)), event(4, "user", "x", ("a", 2))),
                event(5, "assistant", "No", ("a", 3)),
            ],
            False,
        ),
        # A clone was answered.
        ([event(1, "clone", None, ("a", 1), "b"), event(2, "assistant", "No", ("a", 1), "b")], True),
        ([event(2, "user", "x"), event(2, "assistant", "No", ("a", 1), "b")], True),
    ],
)
def test_what_was_sent(last: list[Any], expected: bool) -> None:
    """A secret was sent if an answer follows it in the same path, in its own log or in that of a clone."""
    assert {("a", 1): expected} == sent(read(event(1, "user", KEYS[0]), *last))


def test_what_a_model_said() -> None:
    """A model has what it said itself; a note was sent to nobody."""
    assert {("a", 1): True, ("a", 2): False} == sent(read(event(1, "assistant", KEYS[0]), event(2, "note", KEYS[0])))


def test_a_log_that_is_read_again() -> None:
    """What a clone has shown to be sent is still known when only the source is read again."""
    ledger = read(event(1, "user", KEYS[0]), event(2, "assistant", "No", ("a", 1), "b"))
    ledger.forget("a")
    again = sent(ledger)
    ledger.take("a", event(1, "user", KEYS[0]))

    assert ({}, {("a", 1): True}) == (again, sent(ledger))


def test_what_a_purged_agent_left() -> None:
    """Events that an agent inherited from one that is gone belong to it, and are forgotten with it."""
    ledger = Ledger(fingerprint)
    for one in (event(1, "user", KEYS[0], agent="gone"), event(2, "assistant", "No", ("gone", 1), "heir")):
        ledger.take("heir", one)
    found = [(reader, place, sighting.sent) for reader, place, sighting in ledger.sightings()]
    ledger.forget("heir")

    assert [("heir", ("gone", 1), True)] == found
    assert (0, 0, set()) == (ledger.head("heir"), ledger.head("gone"), ledger.readers())


def test_many_messages_are_one_run() -> None:
    """What is kept does not grow with the messages behind a secret that nobody answers."""
    sizes = [
        len(json.dumps(read(event(1, "user", KEYS[0]), *(event(seq, "user", "x") for seq in range(2, last))).kept()))
        for last in (10, 1000)
    ]

    assert sizes[1] <= sizes[0] + 10


nodes = st.tuples(
    st.sampled_from("ab"),
    st.sampled_from(["user", "assistant", "tool_result", "mark", "note", "usage"]),
    st.sampled_from(["Hi", "Hi", *KEYS]),
    st.integers(0, 30),
)


@given(st.lists(nodes, max_size=30), st.integers(0, 30))
def test_any_tree(chosen: list[tuple[str, str, str, int]], cut: int) -> None:
    """Of any tree, those are known to be sent that an answer follows, also if what is known was kept in between."""
    events: list[Any] = []
    for agent, kind, content, back in chosen:
        seq = 1 + sum(one["agent"] == agent for one in events)
        parents = [(one["agent"], one["seq"]) for one in events if one["kind"] not in ("note", "usage")]
        made = event(seq, kind, content, agent=agent)
        made["parent"] = None
        if parents:
            owner, at = parents[max(len(parents) - 1 - back // 3, 0)]
            made["parent"] = {"agent": owner, "seq": at}
        events.append(made)
    ledger = read(*events[:cut])
    ledger = Ledger(fingerprint, json.loads(json.dumps(ledger.kept())))
    for one in events[cut:]:
        ledger.take(one["agent"], one)

    assert naive(events) == sent(ledger)


def naive(events: list[Any]) -> dict[tuple[str, int], bool]:
    """Return which events with secrets were sent: walk from each answer back to the beginning."""
    at = {(one["agent"], one["seq"]): one for one in events}
    found = {place: False for place, one in at.items() if one["content"] in KEYS}
    for answer in (place for place, one in at.items() if one["kind"] == "assistant"):
        place: tuple[str, int] | None = answer
        while place is not None:
            found |= {place: True} if place in found else {}
            parent = at[place]["parent"]
            place = None if parent is None else (parent["agent"], parent["seq"])
    return found
