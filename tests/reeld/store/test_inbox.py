"""Texts that come from other daemons, faster than they can be taken."""

import time

import anyio

from reeld.poller import Poller, open_poller
from reeld.store.postgres.inbox import MOST, Inbox


async def _idle(poller: Poller) -> None:
    """Wait until everything that was to be called has been."""
    for _ in range(3):  # what a call asks for comes in the round after it
        done = anyio.Event()
        poller.call_soon(lambda _: done.set(), None)  # noqa: B023 - it is called in this turn of the loop
        await done.wait()


async def test_a_flood_of_texts() -> None:
    """The oldest texts are taken in their order, as many as may wait; then it is said that others were dropped."""
    taken: list[str] = []
    async with open_poller() as poller:
        inbox = Inbox(poller, taken.append, lambda _: taken.append("missed"))
        for number in range(MOST + 500):
            inbox.put(str(number))
        await _idle(poller)
        while len(taken) < MOST + 1:
            await _idle(poller)
        inbox.put("later")
        await _idle(poller)

    assert [*map(str, range(MOST)), "later"] == [text for text in taken if text != "missed"]
    assert 1 == taken.count("missed")


async def test_others_have_a_turn() -> None:
    """While many texts wait, everything else is done in between."""
    order: list[str] = []

    def take(text: str) -> None:
        order.append(text)
        time.sleep(0.006)  # longer than a turn may last: the work that a text makes

    async with open_poller() as poller:
        inbox = Inbox(poller, take, lambda _: None)
        for text in ("one", "two", "three"):
            inbox.put(text)
        poller.call_soon(order.append, "other")
        while len(order) < 4:
            await _idle(poller)

    assert ["one", "other", "two", "three"] == order
