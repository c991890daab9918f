"""Texts that look like SQL, sent to a daemon."""

import anyio

from reel.base.errors import NotFound
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Connect

EVIL = "'); DROP TABLE events; --\" :row ? %s"


async def test_what_is_said_stays_what_it_is(connect: Connect) -> None:
    """Text that looks like SQL is returned unchanged, in every place that takes text."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.call("hello", {"client": {"name": EVIL}})
        wanted = {"agent": "demo", "system": EVIL, "title": EVIL, "tags": {EVIL: EVIL}, "key": EVIL}
        made = await peer.call("create", wanted)
        await peer.call("add", "demo", EVIL)
        await peer.call("mark", "demo", EVIL)
        (found,) = (await peer.call("agents", {"prefix": "d", "after": None}))["agents"]
        history = (await peer.call("history", "demo"))["events"]

        assert (EVIL, {EVIL: EVIL}) == (found["title"], found["tags"])
        assert {EVIL} == {event["client"] for event in history}
        assert [EVIL, EVIL] == [event["content"] for event in history if event["kind"] in ("system", "user")]
        assert (await peer.call("create", wanted))["repeated"]
        assert [] == (await peer.call("agents", {"prefix": EVIL}))["agents"]
        assert [] == (await peer.call("agents", {"after": EVIL}))["agents"]
        for method in ("agent", "messages", "history"):
            assert isinstance((await peer.ask((method, EVIL)))[0], NotFound)
        assert (await peer.call("replay", "demo"))["matched"]
        assert made["id"] == found["id"]
