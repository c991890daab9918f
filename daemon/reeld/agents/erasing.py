"""What ``redact``, ``prune`` and ``purge`` have in common. Nothing brings back what they remove.

All agents that have the redacted content in their past, and all agents that are purged, are locked until the log has
changed and they have been read again. So no other command can repeat what is being removed, and no subscriber sees it
any more. Then the file is cleaned, while others go on.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import anyio

from reel.base.errors import Storage
from reel.base.light_typing import NamedTuple
from reeld.agents.agent import Agent
from reeld.agents.asking import lock
from reeld.agents.registry import Registry
from reeld.core.freeing import let_go
from reeld.core.stage import Reply
from reeld.store import queries
from reeld.store.eraser import Eraser
from reeld.store.erasing_backups import FindIn
from reeld.store.erasures import Change, Order
from reeld.store.redactions import Text

log = logging.getLogger(__name__)

# The most events that a reply lists.
LISTED = 1000


class ContentHolders(Protocol):
    """Everything besides the log that holds content: the search index, and caches in memory."""

    def without(self, events: Sequence[int], instead: Mapping[int, Text]) -> AbstractAsyncContextManager[None]:
        """Remove events from the search index. The block changes the log; the index is not filled during it.

        Args:
            events: the ids of the events that go.
            instead: the new texts of other events, by their ids.
        """

    def forget(self, rows: set[int], touches: Callable[[str], bool]) -> None:
        """Drop what is cached of these agents, and the drafts that contain removed content."""

    async def forget_all(self) -> None:
        """Drop everything that is cached, all drafts, and the search index, which is built again."""


class Erasure(NamedTuple):
    """What an erasure changes, once it is planned.

    Args:
        order: what asks for it.
        changes: the new form of the events.
        gone: the ids of those that are removed.
        texts: the new texts of the others, by their ids.
        backups: the paths of backups in which the same is erased.
        find: finds it there.
    """

    order: Order
    changes: Iterable[Change]
    gone: Sequence[int] = ()
    texts: Mapping[int, Text] = {}
    backups: Sequence[str] = ()
    find: FindIn | None = None


@asynccontextmanager
async def freeing() -> AsyncIterator[list[list[Any]]]:
    """Free the items of the lists that are put into this one after the block, in a thread: there may be a million."""
    lists: list[list[Any]] = []
    try:
        yield lists
    finally:
        with anyio.CancelScope(shield=True):
            for items in lists:
                await anyio.to_thread.run_sync(let_go, items)


async def erase(
    eraser: Eraser, holders: ContentHolders, erasure: Erasure, decide: Callable[[int, Reply], Awaitable[Reply]]
) -> Reply:
    """Stage an erasure, decide it, and apply it: what every erasure does between its plan and the cleaning of the file.

    Args:
        eraser: changes the log.
        holders: what holds content besides the log.
        erasure: what is erased.
        decide: commits the decision about the erasure of a number; it gets the part of the reply about backups, and
            returns the reply. From then on the erasure will be completed, whatever happens.

    Raises:
        InvalidParams: a file is not a backup of this version.
        Storage: it cannot be written.
    """
    order, changes, gone, texts, backups, find = erasure
    await eraser.require_backups(backups)
    with anyio.CancelScope(shield=True):
        number = await eraser.stage(order, changes, backups)
        done: Reply = {}
        if backups and find is not None:
            done["backups"] = await eraser.erase_in_backups(backups, order, find)
        reply = await decide(number, done)
        async with holders.without(gone, texts):
            await eraser.apply()
    return reply


async def cleaned(registry: Registry, reply: Reply) -> Reply:
    """Clean the file; return a reply that says so if traces are left."""
    with anyio.CancelScope(shield=True):
        is_clean = await registry.store.eraser.clean()
    return reply if is_clean else {**reply, "traces": True}


async def complete(registry: Registry, holders: ContentHolders) -> None:
    """Complete an erasure that was decided and could not be applied, and remove the traces that are left of any.

    If it cannot be applied or cleaned yet, ``problem`` of the eraser says why.

    Raises:
        Storage: other daemons use the database, or an agent in memory cannot be read again.
    """
    eraser = registry.store.eraser
    await eraser.look()
    if eraser.is_stuck:
        async with eraser.second_turn():
            # Which agents it is about was only known to the command. It may have been one of an earlier run.
            done: set[int] = set()
            async with lock(registry, registry.live()) as locked:
                with anyio.CancelScope(shield=True):
                    try:
                        await eraser.apply()
                    except Storage:
                        return
                    await holders.forget_all()
                    done |= await reload(locked)
            # These were loaded meanwhile.
            async with lock(registry, [agent for agent in registry.live() if agent.row not in done]) as locked:
                await reload(locked)
            log.info("an erasure that was interrupted is complete")
    await eraser.tidy()


async def uids(registry: Registry, rows: set[int]) -> dict[int, str]:
    """Return the ids of agents, by their rows."""
    return {profile.row: profile.uid for profile in await registry.store.read(queries.profiles, sorted(rows))}


async def reload(agents: Sequence[Agent]) -> set[int]:
    """Read the states of agents again, whose logs have changed; return their rows."""
    for agent in agents:
        await agent.live.load()
        agent.live.reset()
    return {agent.row for agent in agents}
