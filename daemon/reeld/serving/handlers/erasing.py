"""The handlers of ``redact``, ``prune`` and ``purge``, and what they remove besides the log."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

import anyio

from reel.base import remembering
from reel.base.errors import InvalidParams
from reel.base.light_typing import NamedTuple
from reeld.agents import erasing, pruning, purging, redacting
from reeld.agents.agent import Agent
from reeld.agents.idempotency import CommandOptions
from reeld.agents.notice import PassOptions, forget_rules
from reeld.agents.pruning import PruneOptions
from reeld.agents.purging import PurgeOptions
from reeld.agents.redacting import RedactOptions
from reeld.backups.remains import remove_workplace
from reeld.core.commands import not_found
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.store.backup import require_foreign
from reeld.store.connection import Texts
from reeld.store.pruning import Point, Program
from reeld.store.purging import those_purged
from reeld.store.redactions import Text
from reeld.store.retention import Subject

log = logging.getLogger(__name__)

# Seconds between two checks for agents that are too old.
RETENTION_EVERY = 3600.0
# Seconds between two attempts to complete what an erasure left; more if one takes long.
_COMPLETED_EVERY = 20.0
_PAUSES = 10


class _ContentHolders(NamedTuple):
    """The search index, rendered histories, drafts, what functions remember, and what a killed restore left behind."""

    services: Services

    def without(self, events: Sequence[int], instead: Mapping[int, Text]) -> AbstractAsyncContextManager[None]:
        return self.services.search.without(events, instead)

    def forget(self, rows: set[int], touches: Callable[[str], bool]) -> None:
        self.services.render_cache.forget(rows)
        self.services.drafts.forget(rows, touches)
        remembering.forget()
        self._remove_workplace()

    async def forget_all(self) -> None:
        await self.services.search.begin_again()
        self.services.render_cache.forget()
        self.services.drafts.forget()
        remembering.forget()
        self._remove_workplace()

    def _remove_workplace(self) -> None:
        if not self.services.store.is_file:
            return
        try:
            remove_workplace(self.services.store.path)
        except OSError as error:
            log.warning("what is left of a restore cannot be removed: %s: %s", error.filename, error.strerror)


def redact(services: Services, _call: Call, agent: Agent, options: CommandOptions, given: params.Redact) -> Deferred:
    """Replace content with a marker."""
    if (given.seqs is None) == (given.text is None):
        raise InvalidParams("redact needs seqs or text, and not both", field="seqs")
    asked = RedactOptions(given.seqs, tuple(given.text or ()), _foreign(services, given.backups), given.dry_run)
    return Deferred(lambda: redacting.redact(services.registry, _ContentHolders(services), options, agent, asked))


def prune(services: Services, _call: Call, agent: Agent, options: CommandOptions, given: params.Prune) -> Deferred:
    """Remove what nothing can reach any more."""

    async def run() -> Result:
        if (given.before is None) == (given.until is None):
            raise InvalidParams("prune needs before or until, and not both", field="before")
        wanted = PruneOptions(
            Point(given.before, given.until), Program(given.keep or (), given.records, given.gone or ()), given.dry_run
        )
        return await pruning.prune(services.registry, _ContentHolders(services), options, agent, wanted)

    return Deferred(run)


def purge(
    services: Services, _call: Call, target: Agent | str, options: CommandOptions, asked: params.Purge
) -> Deferred:
    """Remove an agent for good, or several; one that is gone from backups."""
    wanted = PurgeOptions(asked.cascade, asked.force, asked.dry_run, _foreign(services, asked.backups))
    if isinstance(target, str):
        if asked.also:
            raise not_found(target)
        return Deferred(partial(purging.purge_in_backups, services.registry, options, target, wanted))

    async def run() -> Result:
        rows = [(await services.registry.find(other)).row for other in asked.also or ()]
        return await purging.purge(
            services.registry, _ContentHolders(services), options, target, wanted._replace(also=rows)
        )

    return Deferred(run)


def _foreign(services: Services, backups: list[str] | None) -> tuple[str, ...]:
    if backups and not services.store.is_file:
        raise InvalidParams(
            "backups: this database is on a server, and so are its backups; see docs/operations.md",
            field="backups",
        )
    for path in backups or ():
        require_foreign(path, services.store.path)
    return tuple(backups or ())


def retention(services: Services, call: Call, given: params.Retention) -> Deferred:
    """Purge the agents that are older than the settings allow, and prune the others of what is."""
    asked = PassOptions(call.peer.client, dry_run=given.dry_run, at_once=given.now)

    async def run() -> Result:
        registry, holders = services.registry, _ContentHolders(services)
        told = await services.retention.retain(registry, holders, asked)
        if pruned := await services.pruning_old.prune(registry, holders, asked):
            told = {**told, "off": False, **pruned}
        return told

    return Deferred(run)


def purged(services: Services, _call: Call, asked: params.Gone) -> Deferred:
    """Tell which agents were purged, by anybody."""

    async def run() -> Result:
        return {"purged": await services.store.read(those_purged, Texts(asked.ids))}

    return Deferred(run)


async def keep_retention(services: Services) -> None:
    """Periodically purge and prune what is older than the settings allow; without a limit, forget earlier ones."""
    retention, pruning = services.retention, services.pruning_old
    if not retention.rules.is_on:
        await forget_rules(services.store, Subject.AGENTS)
    if not pruning.is_on:
        await forget_rules(services.store, Subject.HISTORIES)
    while retention.rules.is_on or pruning.is_on:
        if retention.rules.is_on:
            await retention.run(services.registry, _ContentHolders(services))
        if pruning.is_on:
            await pruning.run(services.registry, _ContentHolders(services))
        await anyio.sleep(RETENTION_EVERY)


async def keep_complete(services: Services) -> None:
    """Complete erasures that could not be completed at once: there was no room, or a reader of an old state."""
    complete = partial(erasing.complete, services.registry, _ContentHolders(services))
    while True:
        began = anyio.current_time()
        await services.store.housekeeping.attempt("completing an erasure", complete)
        await anyio.sleep(max(_COMPLETED_EVERY, _PAUSES * (anyio.current_time() - began)))
