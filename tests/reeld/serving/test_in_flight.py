"""Limits of requests in flight: too many are refused as busy, and those that are taken are a prefix."""

import anyio

from reel.base.errors import Busy
from reeld.serving.call import Services
from reeld.serving.flow import Limits
from tests.patience import PATIENCE
from tests.reeld.serving.conftest import Blocker, Connect, texts


async def test_busy_takes_a_prefix(connect: Connect, blocker: Blocker) -> None:
    """Once a request is refused all later ones are, until none is in flight; then requests are taken again."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(requests=3))
        await peer.send(peer.encoded(("wait_for_it",), *[("ping",)] * 5))
        await blocker.entered.wait()
        refused = [await peer.answer(number) for number in (4, 5, 6)]
        blocker.released.set()

        assert [Busy] * 3 == [type(outcome) for outcome in refused]
        assert [{}, {"pong": True}, {"pong": True}] == [await peer.answer(number) for number in (1, 2, 3)]
        assert [{"pong": True}] * 3 == await peer.ask(*[("ping",)] * 3)


async def test_busy_lasts_until_none_is_in_flight(connect: Connect, blocker: Blocker) -> None:
    """Room for one more does not end the refusals: the accepted requests would not be a prefix."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(requests=2))
        await peer.call("create", "demo")
        await peer.send(peer.encoded(("add", "demo", "one"), ("wait_for_it",), ("add", "demo", "two")))
        assert isinstance(await peer.answer(2), dict)
        await blocker.entered.wait()
        late = await peer.ask(("add", "demo", "three"))
        blocker.released.set()
        refused = [await peer.answer(4), *late]
        await peer.answer(3)

        assert [Busy, Busy] == [type(outcome) for outcome in refused]
        assert ["one"] == await texts(peer, "demo")


async def test_busy_of_an_agent_keeps_a_prefix(connect: Connect, services: Services, blocker: Blocker) -> None:
    """If an agent has no room for a request, later requests to any agent are refused as well."""
    with anyio.fail_after(PATIENCE):
        peer = connect()
        await peer.ask(("create", "full"), ("create", "demo"))
        (await services.registry.find("full"))._room = 0
        await peer.send(
            peer.encoded(
                ("add", "demo", "one"),
                ("wait_for_it",),
                ("add", "demo", "two"),
                ("add", "full", "three"),
                ("add", "demo", "four"),
                ("ping",),
            )
        )
        await blocker.entered.wait()
        blocker.released.set()
        outcomes = [type(await peer.answer(number)) for number in range(3, 9)]

        assert [dict, dict, dict, Busy, Busy, Busy] == outcomes
        assert ["one", "two"] == await texts(peer, "demo")


async def test_busy_by_size(connect: Connect, blocker: Blocker) -> None:
    """The requests of a connection have a limit of bytes too; a single one is always taken."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(bytes=1000))
        await peer.send(peer.encoded(("wait_for_it",), ("add", "demo", "x" * 2000, True)))
        await blocker.entered.wait()
        refused = await peer.answer(2)
        blocker.released.set()
        await peer.answer(1)

        assert isinstance(refused, Busy)
        assert 2 == (await peer.call("add", "demo", "x" * 2000, True))["head"]


async def test_busy_by_what_all_have_in_flight(connect: Connect, blocker: Blocker) -> None:
    """All connections together have a limit; it is free again once the requests are answered."""
    with anyio.fail_after(PATIENCE):
        limits = Limits(all_bytes=20)
        first, other = connect(limits), connect(limits)
        await first.send(first.encoded(("wait_for_it",)))
        await blocker.entered.wait()
        (refused,) = await other.ask(("ping",))
        blocker.released.set()
        await first.answer(1)

        assert isinstance(refused, Busy)
        assert (0, 0) == (other.load.requests, other.load.bytes)
        assert [{"pong": True}] == await other.ask(("ping",))


async def test_the_daemon_goes_on_reading(connect: Connect, blocker: Blocker) -> None:
    """However much is refused, it is read and answered: some editors block in their write otherwise."""
    with anyio.fail_after(PATIENCE):
        peer = connect(Limits(requests=1))
        outcomes = peer.encoded(("wait_for_it",), *[("ping",)] * 5000)
        await peer.send(outcomes)

        assert {Busy} == {type(await peer.answer(number)) for number in range(2, 5002)}
        blocker.released.set()
        assert {} == await peer.answer(1)
