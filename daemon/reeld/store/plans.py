"""Long work in short jobs, between which others work: a generator that yields each job and receives its result."""

from collections.abc import Callable, Generator
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
