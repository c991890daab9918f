"""The jobs in an agent's mailbox: writes, reads, and exclusive jobs.

A job may have the address by which the agent was named. If another daemon has given that address to another agent
before the job runs, ``answer`` gets a ``DivergedError``, and the caller begins again. A job without an address is for
this very agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from reeld.agents.idempotency import CommandOptions, IdempotencyKey
from reeld.core.commands import PlainText, Reply, Stage
from reeld.core.state import State


class Write(NamedTuple):
    """A command that moves the tip forward or not at all.

    Args:
        stage: stages it, and returns the reply, as a map or as MessagePack already.
        options: the command's.
        answer: takes the reply or the error.
        address: how the agent was named.
    """

    stage: Callable[[Stage], Reply | bytes]
    options: CommandOptions
    answer: Callable[[Any], None]
    address: str | None = None

    @property
    def commands(self) -> int:
        """How many commands it is."""
        return 1

    def singly(self) -> Iterator[Write]:
        """Return each command as a job of its own."""
        yield self


class WriteTexts(NamedTuple):
    """Consecutive commands of one connection that add one plain text each, as nearly all commands do.

    They form one job, so that the work they have in common is done once. More may join until the agent takes it.

    Args:
        address: how the agent was named.
        client: the name of the client.
        texts: the texts.
        keys: the idempotency key of each, or ``None``.
        take: takes the index of the first one, and the reply or the error of each.
        on_staged: called with the agent's row.
        first: how many of these commands are in other jobs before this one.
    """

    address: str | None
    client: str | None
    texts: list[PlainText]
    keys: list[IdempotencyKey | None]
    take: Callable[[int, Sequence[Any]], None]
    on_staged: Callable[[int], None]
    first: int = 0

    @property
    def commands(self) -> int:
        """How many commands it is."""
        return len(self.texts)

    def answer(self, outcome: Any) -> None:
        """Answer all with their replies, or with one error."""
        self.take(self.first, [outcome] * len(self.texts) if isinstance(outcome, Exception) else outcome)

    def singly(self) -> Iterator[WriteTexts]:
        """Return each command as a job of its own."""
        for number, (text, key) in enumerate(zip(self.texts, self.keys, strict=True)):
            yield self._replace(texts=[text], keys=[key], first=self.first + number)


class Read(NamedTuple):
    """A look at the committed state.

    Args:
        look: looks; it must not take long.
        answer: takes its result or the error.
        address: how the agent was named.
    """

    look: Callable[[State], Any]
    answer: Callable[[Any], None]
    address: str | None = None


class Exclusive(NamedTuple):
    """A job that awaits something, during which the agent does nothing else.

    Args:
        run: a coroutine function, which is given the ``Agent``.
        answer: takes its result or the error.
        address: how the agent was named.
    """

    run: Callable[[Any], Awaitable[Any]]
    answer: Callable[[Any], None]
    address: str | None = None


Job: TypeAlias = Write | WriteTexts | Read | Exclusive
