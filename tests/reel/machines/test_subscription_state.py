"""A subscription without I/O continues where it was, however often it is cut off."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reel
from reel import requests
from reel.base.errors import NotFound, ParseError
from reel.machines.subscription_state import SubscriptionState
from reel.wire.frames import Request
from reel.wire.pushes import DraftPush, EventPush, Push, ResetPush
from reeld.wire.msgpack_framing import ServerMessagePack

pytestmark = pytest.mark.slow

wire = ServerMessagePack()


def opened(following: SubscriptionState) -> dict[str, Any]:
    """Begin on a new connection; return the parameters of the request."""
    hello, subscribe = ServerMessagePack().feed(following.open())
    assert isinstance(hello, Request)
    assert isinstance(subscribe, Request)
    assert ("hello", "subscribe") == (hello.method, subscribe.method)
    params: dict[str, Any] = subscribe.params[0]
    return params


def greeted(**reply: Any) -> bytes:
    """Return the daemon's replies to hello and subscribe."""
    return wire.answer(0, {"server": {}}) + wire.answer(1, {"sub": 1, **reply})


def event(seq: int, event_id: int = 0) -> bytes:
    """Return an event as on the wire."""
    fields = {"agent": "a" * 32, "name": "demo", "seq": seq, "command": seq, "kind": "mark", "time": 0}
    return wire.notify("event", {"sub": 1, **fields, "id": event_id or seq, "keep": 0, "count": 0})


def draft(text: str, connection: int = 7) -> bytes:
    """Return a draft as on the wire."""
    return wire.notify("draft", {"agent": "a" * 32, "connection": connection, "text": text})


def heard(following: SubscriptionState, data: bytes) -> list[Any]:
    """Return the content of pushes: seqs of events, texts of drafts, agents of resets."""
    pushes = following.feed(data)
    return [
        push.seq if isinstance(push, EventPush) else push.text if isinstance(push, DraftPush) else push.agent
        for push in pushes
    ]


@pytest.fixture
def demo() -> SubscriptionState:
    """A subscription to an agent that began at seq 3."""
    following = SubscriptionState(requests.subscribe("demo"), "test")
    assert {"agent": "demo"} == opened(following)
    assert [] == following.feed(greeted(agent="a" * 32, head=3))
    return following


def test_it_comes_back_for_what_came_after(demo: SubscriptionState) -> None:
    """It continues after the last event that it delivered, of the same agent, even if that was renamed."""
    assert 3 == demo.head
    assert {"agent": "a" * 32, "since": 3} == opened(demo)
    demo.feed(greeted(agent="a" * 32, head=9))
    assert [4, 5] == heard(demo, event(4) + event(5))

    assert {"agent": "a" * 32, "since": 5} == opened(demo)
    assert 9 == demo.head


def test_all_agents_go_on_by_id() -> None:
    """A subscription to all agents continues after the last event's id."""
    following = SubscriptionState(requests.subscribe(view="none", kinds=["mark"]), "test")
    opened(following)
    following.feed(greeted(head=100) + event(4, 117))

    assert {"view": "none", "kinds": ["mark"], "since": 117} == opened(following)


def test_a_place_that_was_asked_for_stays() -> None:
    """Until an event arrives, it continues from where it was told to start."""
    following = SubscriptionState(requests.subscribe("demo", since=0), "test")
    opened(following)
    following.feed(greeted(agent="a" * 32, head=9))

    assert 0 == opened(following)["since"]


def test_lagged_continues_at_the_first_missed_event(demo: SubscriptionState) -> None:
    """After a lag report it is over, and starts again before the missing events."""
    data = event(4) + wire.notify("lagged", {"sub": 1, "from": 5, "to": 8}) + event(9)

    assert [4] == heard(demo, data)
    assert demo.over
    assert 4 == opened(demo)["since"]
    assert not demo.over


def test_lagged_before_any_event_is_stuck(demo: SubscriptionState) -> None:
    """A subscription that lagged before any event arrived is stuck, and should not restart at once."""
    lagged = wire.notify("lagged", {"sub": 1, "from": 5, "to": 8})
    demo.feed(event(4) + lagged)
    assert (True, False) == (demo.over, demo.stuck)
    demo.open()
    demo.feed(lagged)
    assert (True, True) == (demo.over, demo.stuck)
    demo.open()

    assert (False, False) == (demo.over, demo.stuck)


def test_bye_ends_the_connection(demo: SubscriptionState) -> None:
    """After the daemon said that it stops, it is over."""
    assert [4] == heard(demo, event(4) + wire.notify("bye", {"reason": "x"}) + event(5))
    assert demo.over


def test_drafts_end_with_the_connection(demo: SubscriptionState) -> None:
    """Drafts end when the connection is lost, unless they are shown again."""
    assert ["a", "b", "c", ""] == heard(demo, draft("a") + draft("b", 8) + draft("c", 9) + draft("", 9))
    opened(demo)
    ends = demo.feed(greeted(agent="a" * 32, head=3) + draft("a"))
    opened(demo)

    assert [DraftPush("a" * 32, 7, ""), DraftPush("a" * 32, 8, ""), DraftPush("a" * 32, 7, "a")] == ends
    assert [""] == heard(demo, greeted(agent="a" * 32, head=3))


def test_a_refused_subscription_raises(demo: SubscriptionState) -> None:
    """A refused subscription raises the error in the reply."""
    opened(demo)
    with pytest.raises(NotFound):
        demo.feed(wire.answer(0, {}) + wire.refuse(1, NotFound("no agent demo")))


@pytest.mark.parametrize("data", [b"\xc1", b"\x01", b"\x91\x01"])
def test_what_is_none_of_the_daemons(demo: SubscriptionState, data: bytes) -> None:
    """Bytes that are not a frame raise an error that says so."""
    with pytest.raises(ParseError, match="not a reply"):
        demo.feed(data)


def test_what_is_newer_than_we_are(demo: SubscriptionState) -> None:
    """Unknown pushes, and unknown fields of known ones, are ignored."""
    news = wire.notify("weather", {"sun": 1}) + wire.notify("reset", {"agent": "b", "why": "x"})

    assert [ResetPush("b")] == demo.feed(news)


def test_nothing_is_given_after_a_request_of_the_daemon(demo: SubscriptionState) -> None:
    """A call from the daemon, which it never sends, is ignored."""
    assert [] == demo.feed(wire.request(1, "ping", []))


class FakeDaemon:
    """A log, and the bytes that a daemon pushes of it; they arrive in pieces of any size.

    Args:
        state: the subscription that receives them.
        random: decides where the bytes are cut.
    """

    def __init__(self, state: SubscriptionState, random: Random) -> None:
        self.state = state
        self.random = random
        self.log = [1]
        self.received: list[Push] = []
        self._data = b""

    def connect(self) -> None:
        """Accept a connection, and send the events after the one that the subscription asks for."""
        since = opened(self.state).get("since", self.log[-1])
        self._data = greeted(agent="a" * 32, head=self.log[-1])
        self._data += b"".join(event(seq) for seq in self.log if seq > since)

    def deliver(self) -> None:
        """Let everything arrive."""
        while self._data:
            size = self.random.randint(1, len(self._data))
            self.received += self.state.feed(self._data[:size])
            self._data = self._data[size:]

    def event(self) -> None:
        """Commit an event; the seqs between belong to events of other kinds."""
        self.log.append(self.log[-1] + self.random.randint(1, 3))
        self._data += event(self.log[-1])

    def draft(self) -> None:
        """Show or remove a draft."""
        self._data += draft(self.random.choice(["x", ""]))

    def reset(self) -> None:
        """Report that the live state was replaced."""
        self._data += wire.notify("reset", {"agent": "a" * 32})

    def lose(self) -> None:
        """Lose the connection, and what was under way from some byte on."""
        self._data = self._data[: self.random.randint(0, len(self._data))]
        self.deliver()
        self.connect()

    def lag(self) -> None:
        """Commit two events that are not sent, and report so."""
        self.log += [self.log[-1] + 1, self.log[-1] + 2]
        self._end(wire.notify("lagged", {"sub": 1, "from": self.log[-2], "to": self.log[-1]}))

    def stop(self) -> None:
        """Say goodbye, and come back."""
        self._end(wire.notify("bye", {"reason": "x"}))

    def _end(self, last: bytes) -> None:
        self._data += last
        self.deliver()
        assert self.state.over
        self.connect()


_ACTIONS = ("event", "event", "draft", "reset", "lose", "lag", "stop")


@given(st.lists(st.sampled_from(_ACTIONS), max_size=30), st.randoms(use_true_random=False))
def test_each_event_comes_once_and_in_order(actions: list[str], random: Random) -> None:
    """However the bytes are cut, and whenever the connection is lost, the events of the log come once, in order."""
    daemon = FakeDaemon(SubscriptionState(requests.subscribe("demo"), "test"), random)
    daemon.connect()
    daemon.deliver()
    for action in actions:
        getattr(daemon, action)()
    daemon.deliver()

    assert daemon.log[1:] == [push.seq for push in daemon.received if isinstance(push, EventPush)]


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ({"keep": 1, "count": 2, "message": {"role": "user"}}, (1, 2, {"role": "user"}, None)),
        ({"keep": 1, "count": 2, "record": {"kind": "user"}}, (1, 2, None, {"kind": "user"})),
        ({"new": 1}, (None, None, None, None)),
    ],
)
def test_an_event_is_read(fields: dict[str, Any], read: tuple[Any, ...]) -> None:
    """An event has the fields of its view; absent ones are None, and unknown ones are ignored."""
    base = {"sub": 1, "agent": "a", "name": "n", "id": 5, "seq": 4, "command": 3, "kind": "user", "time": 2}
    push = reel.wire.pushes.read_push("event", {**base, **fields})

    assert isinstance(push, EventPush)
    assert ("a", "n", 5, 4, 3, "user", 2, *read) == push[: 7 + len(read)]
    assert (None, None) == (push.sent, push.ref)


@pytest.mark.parametrize("agent", ["a" * 32, None])
def test_an_older_log_resets_the_state(agent: str | None) -> None:
    """If a backup replaced the known log, one reset says so, and the subscription continues from there."""
    following = SubscriptionState(requests.subscribe(agent), "test")
    whose = {"agent": agent} if agent else {}
    opened(following)
    following.feed(greeted(**whose, head=3) + event(4, 4))
    assert 4 == opened(following)["since"]

    assert [ResetPush(agent)] == following.feed(greeted(**whose, head=2) + event(5))
    assert (True, False) == (following.over, following.stuck)
    assert 2 == opened(following)["since"]
    assert [3] == heard(following, greeted(**whose, head=3) + event(3, 3))
    assert not following.over


def test_an_older_log_that_has_all_that_was_heard() -> None:
    """If a backup has all that was received so far, the subscription continues without a gap or a reset."""
    following = SubscriptionState(requests.subscribe("demo", since=3), "test")
    opened(following)
    following.feed(greeted(agent="a" * 32, head=9))
    assert 3 == opened(following)["since"]

    assert [4, 5] == heard(following, greeted(agent="a" * 32, head=5) + event(4) + event(5))
    assert not following.over


def test_a_place_that_is_still_to_come() -> None:
    """A subscription from a position that the log has not reached keeps that position after a restart."""
    following = SubscriptionState(requests.subscribe("demo", since=9), "test")
    for _ in range(2):
        assert 9 == opened(following)["since"]
        assert [] == following.feed(greeted(agent="a" * 32, head=3))
