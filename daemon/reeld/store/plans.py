"""Long work in short jobs, between which others work: a generator that yields each job and receives its result."""

from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio

from reel.base.light_typing import NamedTuple
from reeld.store.connection import Connection

T = TypeVar("T")

Plan: TypeAlias = Generator[Callable[[Connection], Any], Any, T]


class _End(NamedTuple):
    """The end of a plan: a thread cannot raise ``StopIteration``."""

    result: Any


def pages(look: Callable[..., int | None], after: int = 0) -> Plan[None]:
    """Look at one page after another.

    Args:
        look: looks at the page that begins ``after`` something; returns where the next one begins, ``None`` at the end.
        after: where the first one begins.
    """
    following: int | None = after
    while following is not None:
        following = yield partial(look, after=following)


def carry_out(plan: Plan[T], connection: Connection, between: Callable[[], object] = lambda: None) -> T:
    """Run the jobs of a plan on a connection, and something after each; return the result of the plan."""
    result = None
    while True:
        try:
            job = plan.send(result)
        except StopIteration as end:
            planned: T = end.value
            return planned
        result = job(connection)
        between()


async def carry_out_between(plan: Plan[T], run: Callable[[Callable[[Connection], Any]], Awaitable[Any]]) -> T:
    """Run the jobs of a plan between those of others; return the result of the plan.

    What the plan does between two jobs runs in a thread: it may sort what it has found of a million events.

    Args:
        run: runs a job when it is its turn.
    """

    def go_on() -> Callable[[Connection], Any] | _End:
        try:
            return plan.send(result)
        except StopIteration as end:
            return _End(end.value)

    result = None
    while not isinstance(job := await anyio.to_thread.run_sync(go_on), _End):
        result = await run(job)
    planned: T = job.result
    return planned
