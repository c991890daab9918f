"""A stretch of a log at a real daemon: for followers, searches and checks its events are like all others."""

from typing import Any

import pytest

from reel import requests
from reel.base.errors import InvalidMessage, ReelError
from reel.importing.adding.pipeline import Pipeline
from reel.sync.client import Client
from tests.daemon import Daemon, until_indexed

pytestmark = pytest.mark.usefixtures("on_each_engine")

STRETCH: list[dict[str, Any]] = [
    {"role": "user", "content": "the first needle", "sent": 1763780400000, "ref": "m-1", "command": 2},
    {"role": "assistant", "content": "hay", "command": 2},
    {"kind": "mark", "data_json": '{"label":"m"}'},
    {"role": "user", "content": "the second needle"},
    {"kind": "rewind", "data_json": '{"label":"m"}'},
    {"role": "user", "content": "the third needle"},
    {"kind": "restore", "data_json": '{"to":5}'},
]


def texts(client: Client) -> list[str]:
    """Return the texts of a conversation."""
    found: list[Any] = list(client.messages("a").messages)
    return [message["content"][0]["text"] for message in found]


def test_a_stretch_is_followed_searched_and_checked(daemon: Daemon, client: Client) -> None:
    """A follower is pushed each of its events, a search finds what it says, and every check agrees with it."""
    client.create("a")
    with client.subscribe("a", 0) as pushes:
        reply = client.append("a", STRETCH, if_seq=1)
        pushed = [getattr(next(pushes), "seq", None) for _ in range(1 + len(STRETCH))]
    events = client.history("a").events

    assert (2, 8) == (reply.first, reply.head)
    assert [event["seq"] for event in events] == pushed
    assert [2, 2, 4, 5, 6, 7, 8] == [event["command"] for event in events[1:]]
    assert ["the first needle", "hay", "the second needle"] == texts(client)
    until_indexed(client)
    assert {2, 5, 7} == {hit.seq for hit in client.search("needle").hits}
    assert client.replay("a").matched
    assert [] == client.verify().problems
    daemon.kill()
    daemon.start()
    assert ["the first needle", "hay", "the second needle"] == texts(client)
    client.undo("a")
    assert ["the first needle", "hay", "the third needle"] == texts(client)


def test_a_long_stretch_is_written_in_one_commit_or_not_at_all(client: Client) -> None:
    """Its events are read and staged beside the event loop."""
    assert client.server is not None
    assert "append" in client.server.features
    client.create("a")
    events = [{"role": "user", "content": f"{number}", "command": number // 3} for number in range(4096)]
    with pytest.raises(InvalidMessage, match=r"events\[4095\]\.ref"):
        client.append("a", [*events[:-2], {**events[0], "ref": "r"}, {**events[0], "ref": "r"}])
    client.append("a", events, if_seq=1)
    sizes = client.stats()["commit_events"]

    assert 1 == dict(zip(sizes["bounds"], sizes["counts"], strict=False))[4096]
    assert 4097 == client.agent("a").head
    client.undo("a")
    assert 4095 == client.agent("a").messages


def test_long_stretches_in_flight(daemon: Daemon) -> None:
    """Each is written or refused in its order, however many a client sends before it reads a reply."""
    long = {"role": "user", "content": "x" * 40_000}
    replies: list[Any] = []
    with Pipeline(Client(daemon.socket)) as pipeline:
        pipeline.create("a")
        for number in range(24):
            is_valid = number % 2
            events = [long, {"role": "user", "content": f"{number}"} if is_valid else {"kind": "x"}]
            pipeline.submit(requests.append("a", events, if_seq=1 + 2 * (number // 2)), replies.append)
        pipeline.submit(requests.append("a", [{"role": "user", "content": "end"}], if_seq=25), replies.append)
        pipeline.drain()

    refused, written = replies[0:24:2], replies[1:24:2]
    assert 12 * [InvalidMessage] == [type(reply) for reply in refused]
    assert [*range(3, 26, 2), 26] == [reply.head for reply in (*written, replies[-1])]


def test_stretches_of_several_agents(client: Client) -> None:
    """They are one commit, behind what the command writes to their agents before; parents are seqs of these."""
    client.create("old")
    client.add("old", "before")
    commits = client.stats()["commits"]
    written = client.commit(
        [
            requests.create("a", title="A"),
            requests.append("a", [{**STRETCH[0], "parent": 0}, {**STRETCH[1], "parent": 2}, *STRETCH[2:]]),
            requests.append("old", [{"role": "assistant", "content": "after", "parent": 2}], if_seq=2),
        ]
    )

    assert commits + 1 == client.stats()["commits"]
    assert [("a", 1, 0), (None, 8, 2), (None, 3, 3)] == [(one.name, one.head, one.first) for one in written.results]
    assert ["the first needle", "hay", "the second needle"] == texts(client)
    assert client.replay("a").matched
    assert [] == client.verify().problems
    client.undo("a")
    assert ["the first needle", "hay", "the third needle"] == texts(client)


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([requests.append("a", [{"kind": "x"}])], r"parts\[0\]: events\[0\]\.kind"),
        ([requests.append("a", [{**STRETCH[0], "parent": 1}])], r"parts\[0\]: events\[0\]\.parent"),
        (2 * [requests.append("a", STRETCH[:1])], r"parts\[1\]: events\[0\]\.ref: an earlier part has 'm-1' already"),
        ([requests.append("missing", STRETCH[:1])], r"parts\[0\]: no agent missing"),
    ],
)
def test_a_refused_stretch_among_others(client: Client, parts: list[requests.Call[Any]], why: str) -> None:
    """Nothing is written if one of them is refused; the error says which, and where."""
    client.create("a")
    with pytest.raises(ReelError, match=why):
        client.commit([*parts, requests.create("b")])

    assert ["a"] == [row.name for row in client.iter_agents()]
    assert 1 == client.agent("a").head


@pytest.mark.parametrize("length", [3, 1100])
def test_followers_of_a_new_agent_whose_stretch_goes_back(client: Client, length: int) -> None:
    """Who follows all agents learns where it goes back to, whether the agent is live from then on or too long."""
    stretch = [{"role": "user", "content": f"{number}"} for number in range(length)]
    stretch += [{"kind": "rewind", "data_json": '{"before":3}'}, {"role": "user", "content": "end"}]
    with client.subscribe() as pushes:
        client.commit([requests.create("a"), requests.append("a", stretch)])
        pushed: list[Any] = [next(pushes) for _ in range(1 + len(stretch))]

    *_, back, end = [(push.kind, push.keep, push.count) for push in pushed]
    assert [("rewind", 1, 1), ("user", 1, 2)] == [back, end]
    assert client.replay("a").matched
