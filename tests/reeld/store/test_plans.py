"""Long work in short jobs: what a plan does between them holds up nobody."""

import threading
from array import array
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from reeld.store.plans import Plan, carry_out, carry_out_between, pages
from reeld.store.purging import plan_purge
from reeld.store.store import open_store
from tests.reeld.store.making import event, made, said, write


async def test_a_plan_goes_on_in_a_thread() -> None:
    """Between its jobs a plan may sort a million events, so it does not run in the event loop; no job is missed."""
    threads: set[threading.Thread] = set()

    def answer(_: Any, number: int) -> int:
        return number

    def plan() -> Plan[list[int]]:
        found = []
        for number in range(3):
            threads.add(threading.current_thread())
            found.append((yield partial(answer, number=number)))
        return found

    async def run(job: Callable[[Any], Any]) -> Any:
        return job(None)

    assert [0, 1, 2] == await carry_out_between(plan(), run)
    assert threads
    assert threading.current_thread() not in threads


def test_one_page_after_another() -> None:
    """Each page begins where the one before it says, until one says that it is the last."""
    looked: list[int] = []

    def look(_: Any, after: int) -> int | None:
        looked.append(after)
        return after + 10 if after < 25 else None

    nothing: Any = None
    carry_out(pages(look, 5), nothing)

    assert [5, 15, 25] == looked


async def test_a_plan_that_fails() -> None:
    """The error of a plan is raised, and so is that of a job."""

    def plan() -> Plan[None]:
        yield lambda _: None
        raise ValueError("no")

    async def run(job: Callable[[Any], Any]) -> Any:
        return job(None)

    async def fail(_: Callable[[Any], Any]) -> Any:
        raise OSError

    with pytest.raises(ValueError, match=r"^no$"):
        await carry_out_between(plan(), run)
    with pytest.raises(OSError):  # noqa: PT011 - it has no text
        await carry_out_between(plan(), fail)


@pytest.mark.parametrize("agents", [1, 2])
async def test_the_events_of_a_purge(path: str, agents: int) -> None:
    """However many there are, they are a handful of objects, and their ids ascend, also those of several agents."""
    rows = {*range(1, agents + 1)}
    async with open_store(path) as store:
        for row in rows:
            await write(store, made(row, event(2)))
        for row in rows:
            await write(store, said(row, event(3), event(4)))
        planned = await carry_out_between(plan_purge(rows), store.read_long)

    assert isinstance(planned.events, array)
    assert sorted(planned.events) == list(planned.events)
    assert 4 * agents == len(planned.events)
