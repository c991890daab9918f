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
    before = client.agent("talk").head + 1
    said = [client.messages(name).messages for name in ("talk", "copy")]
    would = client.prune("talk", before=before, dry_run=True)
    done = client.prune("talk", before=before)
    until_indexed(client)

    assert (2, 2) == (would.pruned, done.pruned)
    assert said == [client.messages(name).messages for name in ("talk", "copy")]
    assert [] == client.search("quagga OR zebra").hits
    assert 2 == len(client.search("tapir OR okapi").hits)
    assert [] == client.verify().problems
    with pytest.raises(InvalidParams, match="pruned"):
        client.messages("talk", at=gone.head)
