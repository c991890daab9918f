"""Purges agents that are older than the settings allow, in batches beside the work of others.

No agent is started for it: an agent that nobody uses can be held by its number alone, so any number of them can be
purged whatever the limit of live agents is. One that is used meanwhile is left for the next pass. The file is cleaned
once, at the end.
"""

import logging
from collections.abc import Sequence
from operator import attrgetter

import anyio

from reel.base.errors import ReelError
from reel.reading.wording import utc_minute
from reeld.agents.clock import now
from reeld.agents.erasing import LISTED, ContentHolders, Erasure, erase, uids
from reeld.agents.notice import Notice, PassOptions, forget_rules
from reeld.agents.registry import Registry
from reeld.core.paging import batches
from reeld.core.stage import Reply
from reeld.core.state import Profile
from reeld.store import queries
from reeld.store.connection import Error
from reeld.store.erasures import Order
from reeld.store.purging import Purge, count_purge, plan_purge
from reeld.store.retention import Old, Retention, Subject, expired
from reeld.store.transactions import Transaction

log = logging.getLogger(__name__)

# Agents, and events, of a batch: what is done with them at once takes some milliseconds.
_BATCH = 250
_EVENTS = 10_000
# Old agents that the log names before they are purged.
_NAMED = 100


class _Done:
    """What a pass has removed so far."""

    def __init__(self) -> None:
        self.uids: list[str] = []
        self.events = 0
        self.kept = 0
        self.heirs: dict[int, str] = {}

    def add(self, gone: Sequence[Profile], planned: Purge, heirs: dict[int, str]) -> None:
        """Take note of a batch; an heir may be gone with a later one."""
        self.uids += [profile.uid for profile in gone]
        self.events += len(planned.events)
        self.kept += planned.kept
        self.heirs.update(heirs)
        for row in planned.agents:
            self.heirs.pop(row, None)

    def as_reply(self) -> Reply:
        """Return the part of the reply that says what was removed."""
        return {
            "purged": self.uids[:LISTED],
            "purged_count": len(self.uids),
            "events": self.events,
            "kept": self.kept,
            "heirs": list(self.heirs.values())[:LISTED],
        }


class Retaining:
    """Applies the rules of ``[retention]``.

    Args:
        rules: the rules.
        ignored: what is wrong with settings that count as not set.
    """

    def __init__(self, rules: Retention, ignored: Sequence[str] = ()) -> None:
        self.rules = rules.of_agents
        self._ignored = list(ignored)
        self._failure: str | None = None
        self._notice = Notice(Subject.AGENTS, self.rules)

    @property
    def after(self) -> int | None:
        """The time before which nothing is purged, because the rules are new; ``None`` if that is not known."""
        return self._notice.after

    @property
    def problem(self) -> str | None:
        """Why agents that are too old are not purged; ``None`` if nothing is wrong."""
        return "; ".join([*self._ignored, *filter(None, [self._failure])]) or None

    async def run(self, registry: Registry, holders: ContentHolders) -> None:
        """Do what :meth:`retain` does, and remember why it failed."""
        try:
            reply = await self.retain(registry, holders, PassOptions("retention"))
        except (OSError, Error, ReelError) as error:
            reason = error.message if isinstance(error, ReelError) else error
            failure = f"agents that are too old are not purged: {reason}"
            if failure != self._failure:
                log.warning("%s", failure)
            self._failure = failure
            return
        self._failure = None
        if reply["purged_count"]:
            log.info("retention: %d agents purged, %d events", reply["purged_count"], reply["events"])

    async def retain(self, registry: Registry, holders: ContentHolders, asked: PassOptions) -> Reply:
        """Purge the agents that are older than the rules allow, unless they are being followed.

        Args:
            registry: finds agents.
            holders: what holds content besides the log.
            asked: how.

        Raises:
            Storage: it cannot be written, or other daemons use the database. Some of them may be purged.
        """
        time, store = now(), registry.store
        if not self.rules.is_on:
            if not asked.dry_run:
                await forget_rules(store, Subject.AGENTS)
            return {"agents": [], "agents_count": 0, "off": True, **_Done().as_reply()}
        expired_ones = await store.eraser.plan(expired(self.rules, time))
        old = await _unfollowed(registry, expired_ones)
        told: Reply = {
            "agents": [{"id": each.uid, "name": each.name, "updated": each.updated} for each in old[:LISTED]],
            "agents_count": len(old),
            "followed_count": len(expired_ones) - len(old),
        }
        after, is_new = await self._notice.look(store, time, at_once=asked.at_once, dry_run=asked.dry_run)
        if is_new and not asked.dry_run:
            _announce(old, after)
        if time < after:
            return {**told, **_Done().as_reply(), "after": after}
        if asked.dry_run:
            return {**told, **await _counted(registry, old)}
        return {**told, **await _purge(registry, holders, old, asked.client)}


async def _unfollowed(registry: Registry, old: Sequence[Old]) -> list[Old]:
    """Return the agents that nobody follows; there may be a hundred thousand of them."""
    found = []
    for number, each in enumerate(old):
        if not registry.bus.attached(each.row):
            found.append(each)
        if number % _BATCH == 0:
            await anyio.lowlevel.checkpoint()
    return found


def _announce(old: Sequence[Old], after: int) -> None:
    log.warning(
        "retention: the settings are new, or reach further than before; nothing is purged before %s, and then the"
        " agents that are too old, now %d; see them with: reel purge --retention --dry-run; do it now with:"
        " reel purge --retention --now",
        utc_minute(after),
        len(old),
    )
    for each in old[:_NAMED]:
        log.info("agent=%s would be purged", each.uid)
    if len(old) > _NAMED:
        log.info("and %d more", len(old) - _NAMED)


async def _counted(registry: Registry, old: Sequence[Old]) -> Reply:
    """Return what a purge of agents would remove."""
    counted = await registry.store.eraser.plan(count_purge({each.row for each in old}))
    heirs = await uids(registry, counted.heirs)
    return {
        "purged": [each.uid for each in old[:LISTED]],
        "purged_count": len(old),
        "events": counted.events,
        "kept": counted.kept,
        "heirs": list(heirs.values())[:LISTED],
    }


async def _purge(registry: Registry, holders: ContentHolders, old: Sequence[Old], client: str | None) -> Reply:
    """Purge agents, then clean the file; if that is not reached, it is cleaned at the next idle moment."""
    done = _Done()
    # The youngest first: a clone goes before what it was cloned from, which it needs.
    for batch in batches(reversed(old), _BATCH, _EVENTS, attrgetter("head")):
        await _purge_batch(registry, holders, batch, client, done)
    reply, eraser = done.as_reply(), registry.store.eraser
    if done.uids:
        with anyio.CancelScope(shield=True):
            await eraser.tidy()
        reply = {**reply, "traces": True} if eraser.has_traces else reply
    return reply


async def _purge_batch(
    registry: Registry, holders: ContentHolders, batch: list[Old], client: str | None, done: _Done
) -> None:
    store, eraser = registry.store, registry.store.eraser
    heads = {each.row: each.head for each in batch}
    async with eraser.turn():
        with registry.hold(heads) as held:
            # Read now, because nobody can change them any more.
            gone = [
                profile for profile in await store.read(queries.profiles, held) if profile.head == heads[profile.row]
            ]
            if not gone:
                return
            planned = await eraser.plan(plan_purge({profile.row for profile in gone}))
            heirs = await uids(registry, planned.heirs)
            order = Order("purge", gone[0].uid, client, now())
            erasure = Erasure(order, planned.changes, planned.events)

            def on_commit(_: list[int]) -> None:
                for profile in gone:
                    registry.bus.reset(profile)

            async def decide(number: int, _: Reply) -> Reply:
                decision = planned.decision(number)
                await store.writer.commit(Transaction([], [], decision=decision), on_commit)
                done.add(gone, planned, heirs)
                return {}

            await erase(eraser, holders, erasure, decide)
            holders.forget({profile.row for profile in gone}, lambda _: True)
    for profile in gone:
        log.info("agent=%s purged, for client=%s", profile.uid, client)
        await anyio.lowlevel.checkpoint()  # hundreds of lines take longer than others should wait
