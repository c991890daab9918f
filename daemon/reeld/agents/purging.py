"""The command ``purge``: an agent is removed, with every event that the past of no other agent needs."""

import logging
from collections.abc import Sequence
from functools import partial

import anyio

from reel.base.light_typing import NamedTuple
from reeld.agents.agent import Agent
from reeld.agents.clock import now
from reeld.agents.erasing import ContentHolders, Erasure, cleaned, erase, uids
from reeld.agents.executor import Work, locked
from reeld.agents.idempotency import CommandOptions, first_reply, key_row
from reeld.agents.registry import Registry
from reeld.core.commands import not_found
from reeld.core.stage import Reply
from reeld.store.erasing_backups import FindIn
from reeld.store.erasures import Order, OwnKey, hidden
from reeld.store.purging import Purge, plan_purge, plan_purge_elsewhere, purged_with, was_purged
from reeld.store.transactions import Transaction

log = logging.getLogger(__name__)


class PurgeOptions(NamedTuple):
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
    registry: Registry, holders: ContentHolders, options: CommandOptions, root: Agent, wanted: PurgeOptions
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
            heirs = await uids(registry, planned.heirs)
            told: Reply = {
                "agent": stage.base.uid,
                "head": stage.head,
                "purged": [profile.uid for profile in profiles],
                "events": len(planned.events),
                "kept": planned.kept,
                "heirs": [*heirs.values()],
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
        return await cleaned(registry, reply)


async def purge_in_backups(registry: Registry, options: CommandOptions, address: str, wanted: PurgeOptions) -> Reply:
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


def _purge_in(uids: Sequence[str], wanted: PurgeOptions) -> FindIn:
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
