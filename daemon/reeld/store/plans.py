"""Long work in short jobs, between which others work: a generator that yields each job and receives its result."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeAlias, TypeVar

from reeld.store.connection import Connection

T = TypeVar("T")

Plan: TypeAlias = Generator[Callable[[Connection], Any], Any, T]


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

    Args:
        plan: the plan.
        run: runs a job when it is its turn.
    """
    result = None
    while True:
        try:
            job = plan.send(result)
        except StopIteration as end:
            planned: T = end.value
            return planned
        result = await run(job)
