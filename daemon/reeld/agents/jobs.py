"""The jobs in an agent's mailbox: writes, reads, and exclusive jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple
from reeld.agents.idempotency import CommandOptions, IdempotencyKey
from reeld.core.stage import PlainText, Reply, Stage
from reeld.core.state import State


class Write(NamedTuple):
    """A command that moves the tip forward or not at all.

    Args:
        stage: stages it, and returns the reply, as a map or as MessagePack already.
        options: the command's.
        answer: takes the reply or the error.
        apart: returns the same command as a job by itself, in case staging it finds that something is not in memory.
    """

    stage: Callable[[Stage], Reply | bytes]
    options: CommandOptions
    answer: Callable[[Any], None]
    apart: Callable[[], Exclusive] | None = None

    @property
    def commands(self) -> int:
        """How many commands it is."""
        return 1

    def singly(self) -> Iterator[Write]:
        """Return each command as a job of its own."""
        yield self


class WriteTexts:
    """Consecutive commands of one connection that add one plain text each, as nearly all commands do.

    They form one job, so that the work they have in common is done once. More may join until the agent takes it.

    Args:
        client: the name of the client.
        take: called with the job, the index of the first one, and the reply of each or the same error for each.
        on_staged: called with the agent's row.
        first: how many of these commands are in other jobs before this one.
    """

    __slots__ = ("client", "first", "keys", "on_staged", "take", "texts")

    def __init__(
        self,
        client: str | None,
        take: Callable[[Any, int, Sequence[Any]], None],
        on_staged: Callable[[int], None],
        first: int = 0,
    ) -> None:
        self.client = client
        self.take = take
        self.on_staged = on_staged
        self.first = first
        # The texts, and the idempotency key of each.
        self.texts: list[PlainText] = []
        self.keys: list[IdempotencyKey | None] = []

    @property
    def commands(self) -> int:
        """How many commands it is."""
        return len(self.texts)

    def answer(self, outcome: Any) -> None:
        """Answer all with their replies, or with one error."""
        self.take(self, self.first, [outcome] * len(self.texts) if isinstance(outcome, Exception) else outcome)

    def singly(self) -> Iterator[WriteTexts]:
        """Return each command as a job of its own."""

        def take(_: WriteTexts, first: int, outcomes: Sequence[Any]) -> None:
            self.take(self, first, outcomes)

        for number, (text, key) in enumerate(zip(self.texts, self.keys, strict=True), self.first):
            single = WriteTexts(self.client, take, self.on_staged, number)
            single.texts.append(text)
            single.keys.append(key)
            yield single


class Read(NamedTuple):
    """A look at the committed state.

    Args:
        look: looks; it must not take long.
        answer: takes its result or the error.
    """

    look: Callable[[State], Any]
    answer: Callable[[Any], None]


class Exclusive(NamedTuple):
    """A job that awaits something, during which the agent does nothing else.

    Args:
        run: a coroutine function, which is given the ``Agent``.
        answer: takes its result or the error.
    """

    run: Callable[[Any], Awaitable[Any]]
    answer: Callable[[Any], None]


Job: TypeAlias = Write | WriteTexts | Read | Exclusive
