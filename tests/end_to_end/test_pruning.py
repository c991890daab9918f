"""Pruning a conversation that goes on, over each engine."""

import pytest

from reel.base.errors import InvalidParams
from reel.sync.client import Client
from tests.daemon import until_indexed

pytestmark = pytest.mark.usefixtures("on_each_engine")


def test_what_nothing_reaches(client: Client) -> None:
    """What was cleared before the point is gone; what is there, marked or in a clone stays, and the rest is refused."""
    gone = client.add("talk", ["a quagga", "a zebra"], create=True)
    client.clear("talk")
    client.add("talk", "a tapir")
    client.clone("talk", "copy")
    client.add("talk", "an okapi")
    client.mark("talk", "kept")
    client.clear("talk")
    client.add("talk", "a horse")
    record = client.add("talk", [{"kind": "command", "data_json": '{"numbat":1,"kept":2}'}]).head
    before = client.agent("talk").head + 1
    said = [client.messages(name).messages for name in ("talk", "copy")]
    records = [(record, '{"kept":2}')]
    would = client.prune("talk", before=before, dry_run=True, records=records)
    done = client.prune("talk", before=before, records=records)
    until_indexed(client)

    assert (3, 3) == (would.pruned, done.pruned)
    assert ['{"kept":2}'] == [each["data_json"] for each in client.iter_history("talk") if each["kind"] == "command"]
    assert said == [client.messages(name).messages for name in ("talk", "copy")]
    assert [] == client.search("quagga OR zebra").hits
    assert 2 == len(client.search("tapir OR okapi").hits)
    assert [] == client.verify().problems
    with pytest.raises(InvalidParams, match="pruned"):
        client.messages("talk", at=gone.head)


def test_a_redo_after_a_program_has_pruned(client: Client) -> None:
    """A redo leads to what the program had when the undo was made, rather than at the end of the command."""
    client.add("redone", ["one"], create=True)
    said = client.add("redone", ["two"]).head
    client.add("redone", [{"kind": "command", "data_json": '{"mine":1}'}])
    client.prune("redone", before=1, records=[(said + 1, "{}")], gone=[(said, said)])
    client.undo("redone")
    client.redo("redone")
    assert 2 == client.agent("redone").messages

    undone = client.undo("redone")
    client.prune("redone", before=1, gone=[(undone.head - 1, undone.head - 1)])
    with pytest.raises(InvalidParams, match=f"what a program kept beside the conversation at #{undone.head - 1} was"):
        client.redo("redone")


def test_what_a_program_misses(client: Client) -> None:
    """Nothing leads to where a program has pruned its records, and later copies of a message go with it."""
    client.add("kept", ["one"], create=True)
    client.add("kept", ["two", {"kind": "command", "data_json": '{"mine":{"words":"a numbat","copies_of":[[2,2]]}}'}])
    client.add("kept", [{"kind": "command", "data_json": '{"a":"b"}'}])
    client.prune("kept", before=1, records=[(5, "{}")], gone=[(2, 2)])
    client.add("another", ["more"], create=True)
    for go in (lambda: client.restore("kept", 2), lambda: client.undo("kept"), lambda: client.undo_turn("kept")):
        with pytest.raises(InvalidParams, match="what a program kept beside the conversation at #2 was pruned"):
            go()
    assert [2, 4] == [event.seq for event in client.redact("kept", seqs=[2]).events]
    client.add("kept", ["three"])
    client.undo("kept")
    assert 2 == client.agent("kept").messages
    assert 0 == sum(entry.responses for entry in client.usage("kept").values())
