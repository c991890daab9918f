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
