"""The commands that erase: ``redact``, ``prune`` and ``purge``. What they remove cannot be brought back.

All agents that have the redacted content in their past, and all agents that are purged, are locked until the log has
changed and they have been read again. So no other command can repeat what is being removed, and no subscriber sees it
any more. Then the file is cleaned, while others go on.
"""

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

import anyio

from reel.base.errors import InvalidParams, Storage
from reel.base.light_typing import NamedTuple
from reel.reading.wording import utc_minute
from reeld.agents.agent import Agent
from reeld.agents.asking import lock
from reeld.agents.clock import now
from reeld.agents.executor import Work, locked
from reeld.agents.idempotency import CommandOptions, first_reply, key_row
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.commands import not_found
from reeld.core.freeing import let_go
from reeld.core.pruning import Pruning
from reeld.core.redaction import Redaction
from reeld.core.stage import Reply
from reeld.store import queries
from reeld.store.eraser import Eraser
from reeld.store.erasing_backups import FindIn
from reeld.store.erasures import Change, Order, OwnKey, hidden
from reeld.store.pruned import not_gone_yet
from reeld.store.pruning import Point, Program, Pruned, plan_prune
from reeld.store.purging import Purge, plan_purge, plan_purge_elsewhere, purged_with, was_purged
from reeld.store.redacting import Past, plan_past, plan_redaction
from reeld.store.redactions import Redactions, Text
from reeld.store.transactions import Transaction

log = logging.getLogger(__name__)

T = TypeVar("T")
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


class Asked(NamedTuple):
    """What a redaction removes: the content of some events, or some texts wherever they are."""

    seqs: list[int] | None
    texts: tuple[str, ...]
    backups: tuple[str, ...]
    dry_run: bool


async def redact(
    registry: Registry, holders: ContentHolders, options: CommandOptions, agent: Agent, asked: Asked
) -> Reply:
    """Replace what was said in the past of an agent by a marker, for everybody who has it in their past.

    Raises:
        InvalidParams: a seq is of no event with content.
        Storage: it cannot be written.
    """
    store, eraser = registry.store, registry.store.eraser
    time = now()
    redaction = Redaction(_about(time, options.client), os.urandom(16), asked.texts)

    async def affected(work: Work) -> set[int]:
        past = await eraser.plan(plan_past(work.agents[0].row, asked.seqs))
        plans.append((past, await eraser.plan(plan_redaction(past, redaction))))
        lists.append(plans[-1][1].found)
        return plans[-1][1].affected

    plans: list[tuple[Past, Redactions]] = []
    async with eraser.turn(), freeing() as lists:
        async with locked(registry, options, [agent], affected) as work:
            past, planned = plans[-1]
            target = work.alone()
            stage = target.stage
            told = {"agent": stage.base.uid, "head": stage.head, **await _told(registry, planned)}
            if asked.dry_run:
                return told
            if (first := await first_reply(store, options.key)) is not None:
                return first
            if planned.decision().is_nothing and not asked.backups:
                return told
            order = Order("redact", stage.base.uid, options.client, time)
            erasure = Erasure(
                order,
                planned.changes,
                texts=planned.texts,
                backups=asked.backups,
                find=partial(plan_redaction, past, redaction),
            )

            async def decide(number: int, backups: Reply) -> Reply:
                command = commands.redacted(stage, len(planned.found), "seqs" if redaction.is_whole else "text")
                reply = await work.commit({**told, **stage.reply(command), **backups}, planned.decision(number))
                log.info(
                    "agent=%s redacted: %d events, for client=%s", stage.base.uid, len(planned.found), options.client
                )
                return reply

            reply = await erase(eraser, holders, erasure, decide)
            with anyio.CancelScope(shield=True):
                await _reload(work.agents)
                holders.forget({each.row for each in work.agents}, redaction.touches)
        return await _cleaned(registry, reply)


class Prunable(NamedTuple):
    """Up to where a log is pruned, what a program says that keeps records in it, and whether it is only tried."""

    point: Point
    program: Program
    dry_run: bool


async def prune(
    registry: Registry, holders: ContentHolders, options: CommandOptions, agent: Agent, wanted: Prunable
) -> Reply:
    """Remove what was said in an agent's log before a point, and nothing can reach any more; then clean the file.

    Raises:
        Storage: it cannot be written.
    """
    async with registry.store.eraser.turn():
        reply = await prune_log(registry, holders, options, agent, wanted)
        wrote = "command" in reply and "repeated" not in reply
        return await _cleaned(registry, reply) if wrote else reply


async def prune_log(
    registry: Registry, holders: ContentHolders, options: CommandOptions, agent: Agent, wanted: Prunable
) -> Reply:
    """Remove what was said in an agent's log before a point, and nothing can reach any more.

    The caller has the eraser's turn, and cleans the file.

    Raises:
        InvalidParams: the log does not have a record or a position that the program names, or more of a record would be
            left than it has.
        Storage: it cannot be written.
    """
    store, eraser = registry.store, registry.store.eraser
    time = now()
    pruning = Pruning(utc_minute(time))

    async def affected(work: Work) -> set[int]:
        plans.append(await eraser.plan(plan_prune(work.agents[0].row, wanted.point, pruning, wanted.program)))
        lists.append(plans[-1].redactions.found)
        return plans[-1].redactions.affected

    plans: list[Pruned] = []
    async with freeing() as lists, locked(registry, options, [agent], affected) as work:
        planned, found = plans[-1], plans[-1].redactions
        stage = work.alone().stage
        if (last := max((last for _, last in wanted.program.gone), default=0)) > stage.head:
            raise InvalidParams(f"gone: the log ends at {stage.head}, before {last}", field="gone")
        heirs = await store.read(queries.profiles, sorted(planned.heirs))
        told: Reply = {
            "agent": stage.base.uid,
            "head": stage.head,
            "before": planned.before,
            "pruned": len(found.found),
            "bytes": planned.size,
            "kept": planned.kept,
            "heirs": [profile.uid for profile in heirs],
        }
        if wanted.dry_run:
            return told
        if (first := await first_reply(store, options.key)) is not None:
            return first
        gone = await store.read(not_gone_yet, agent.row, stage.base.uid, wanted.program.gone)
        if found.decision().is_nothing and not gone:  # a record that a clone has stays, and may be needed nevertheless
            return told
        erasure = Erasure(Order("prune", stage.base.uid, options.client, time), found.changes, texts=found.texts)

        async def decide(number: int, _: Reply) -> Reply:
            command = commands.redacted(stage, len(found.found), "prune", gone)
            reply = await work.commit({**told, **stage.reply(command)}, found.decision(number))
            log.info("agent=%s pruned: %d events, for client=%s", stage.base.uid, len(found.found), options.client)
            return reply

        reply = await erase(eraser, holders, erasure, decide)
        with anyio.CancelScope(shield=True):
            await _reload(work.agents)
            holders.forget({each.row for each in work.agents}, lambda _: False)
        return reply


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


class Wanted(NamedTuple):
    """What a purge removes beside the agent.

    Args:
        cascade: its clones that were killed as well, recursively.
        force: all its clones.
        dry_run: nothing; only say what would go.
        backups: the paths of backups from which they are removed as well.
        also: the rows of more agents, which are removed with their clones as well.
    """

    cascade: bool = False
    force: bool = False
    dry_run: bool = False
    backups: Sequence[str] = ()
    also: Sequence[int] = ()


async def purge(
    registry: Registry, holders: ContentHolders, options: CommandOptions, root: Agent, wanted: Wanted
) -> Reply:
    """Remove an agent, and others if requested, with every event that the past of no other agent needs.

    Raises:
        Storage: it cannot be written.
    """
    store, eraser = registry.store, registry.store.eraser

    async def family(work: Work) -> set[int]:
        rows = {work.agents[0].row, *wanted.also}
        return await store.read(purged_with, rows, living=wanted.force) if wanted.cascade or wanted.force else rows

    async with eraser.turn():
        async with locked(registry, options, [root], family) as work:
            stage = work.alone().stage
            if (first := await first_reply(store, options.key)) is not None:
                return first
            planned = await eraser.plan(plan_purge({each.row for each in work.agents}))
            profiles = [each.committed.profile for each in work.agents]
            heirs = [found.uid for found in await store.read(queries.profiles, sorted(planned.heirs))]
            told: Reply = {
                "agent": stage.base.uid,
                "head": stage.head,
                "purged": [profile.uid for profile in profiles],
                "events": len(planned.events),
                "kept": planned.kept,
                "heirs": heirs,
            }
            if wanted.dry_run:
                return told
            order = Order("purge", stage.base.uid, options.client, stage.now)
            find = _purge_in([profile.uid for profile in profiles], wanted)
            erasure = Erasure(order, planned.changes, planned.events, backups=wanted.backups, find=find)

            async def decide(number: int, backups: Reply) -> Reply:
                reply = {**told, "time": stage.now, **backups}
                await _decide_purge(registry, work.agents, planned, number, options, reply)
                for profile in profiles:
                    log.info("agent=%s purged, for client=%s", profile.uid, options.client)
                return reply

            reply = await erase(eraser, holders, erasure, decide)
            holders.forget({each.row for each in work.agents}, lambda _: True)
        return await _cleaned(registry, reply)


async def purge_in_backups(registry: Registry, options: CommandOptions, address: str, wanted: Wanted) -> Reply:
    """Remove an agent from backups that was purged before.

    Args:
        registry: has the store.
        options: of the command.
        address: the id that the agent had.
        wanted: the backups, and whether its clones are removed from them as well.

    Raises:
        InvalidParams: a file is not a backup of this version.
        NotFound: no backup is named, or no agent with this id was purged.
        Storage: a backup cannot be written.
    """
    store, eraser = registry.store, registry.store.eraser
    async with eraser.turn():
        if (first := await first_reply(store, options.key)) is not None:
            return first
        if not wanted.backups or not await store.read(was_purged, address):
            raise not_found(address)
        order = Order("purge", address, options.client, now())
        told: Reply = {"agent": address, "purged": [], "events": 0, "kept": 0, "heirs": [], "head": 0}
        if wanted.dry_run:
            return told
        await eraser.require_backups(wanted.backups)
        with anyio.CancelScope(shield=True):
            await eraser.stage(order, (), wanted.backups)
            done = await eraser.erase_in_backups(wanted.backups, order, _purge_in([address], wanted))
        return {**told, "time": order.time, "backups": done}


def _purge_in(uids: Sequence[str], wanted: Wanted) -> FindIn:
    return partial(plan_purge_elsewhere, uids, cascade=wanted.cascade, force=wanted.force)


async def _decide_purge(
    registry: Registry, agents: Sequence[Agent], planned: Purge, erasure: int, options: CommandOptions, reply: Reply
) -> None:
    own = None
    if options.key is not None:
        row = key_row(options.key, agents[0].row, reply, 0)
        own = OwnKey(row.key, row.digest, hidden(row.address), row.reply)

    def on_commit(_: list[int]) -> None:
        for agent in agents:
            registry.remove(agent)

    await registry.store.writer.commit(Transaction([], [], decision=planned.decision(erasure, own)), on_commit)


async def _cleaned(registry: Registry, reply: Reply) -> Reply:
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
                    done |= await _reload(locked)
            # These were loaded meanwhile.
            async with lock(registry, [agent for agent in registry.live() if agent.row not in done]) as locked:
                await _reload(locked)
            log.info("an erasure that was interrupted is complete")
    await eraser.tidy()


async def _reload(agents: Sequence[Agent]) -> set[int]:
    for agent in agents:
        await agent.live.load()
        agent.live.reset()
    return {agent.row for agent in agents}


async def _told(registry: Registry, planned: Redactions) -> Reply:
    """Return the part of a reply that describes a redaction."""
    found = await registry.store.read(queries.profiles, sorted(planned.affected))
    uids = {profile.row: profile.uid for profile in found}
    shown = [{"agent": uids[each.owner], "seq": each.seq} for each in planned.found[:LISTED] if each.owner in uids]
    return {"redacted": len(planned.found), "events": shown, "affected": [*uids.values()]}


def _about(time: int, client: str | None) -> str:
    """Return when something is redacted and by whom."""
    return f"{utc_minute(time)} by {client}" if client else utc_minute(time)
