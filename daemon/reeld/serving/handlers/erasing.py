"""The handlers of ``redact``, ``prune``, ``purge`` and ``retention``."""

from functools import partial

from reel.base.errors import InvalidParams
from reeld.agents import pruning, purging, redacting
from reeld.agents.agent import Agent
from reeld.agents.idempotency import CommandOptions
from reeld.agents.notice import PassOptions
from reeld.agents.pruning import PruneOptions
from reeld.agents.purging import PurgeOptions
from reeld.agents.redacting import RedactOptions
from reeld.core.commands import not_found
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.erasing_chores import Holders
from reeld.store.backup import require_foreign
from reeld.store.connection import Texts
from reeld.store.pruning import Point, Program
from reeld.store.purging import those_purged


def redact(services: Services, _call: Call, agent: Agent, options: CommandOptions, given: params.Redact) -> Deferred:
    """Replace content with a marker."""
    if (given.seqs is None) == (given.text is None):
        raise InvalidParams("redact needs seqs or text, and not both", field="seqs")
    asked = RedactOptions(given.seqs, tuple(given.text or ()), _foreign(services, given.backups), given.dry_run)
    return Deferred(lambda: redacting.redact(services.registry, Holders(services), options, agent, asked))


def prune(services: Services, _call: Call, agent: Agent, options: CommandOptions, given: params.Prune) -> Deferred:
    """Remove what nothing can reach any more."""

    async def run() -> Result:
        if (given.before is None) == (given.until is None):
            raise InvalidParams("prune needs before or until, and not both", field="before")
        wanted = PruneOptions(
            Point(given.before, given.until), Program(given.keep or (), given.records, given.gone or ()), given.dry_run
        )
        return await pruning.prune(services.registry, Holders(services), options, agent, wanted)

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
        return await purging.purge(services.registry, Holders(services), options, target, wanted._replace(also=rows))

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
        registry, holders = services.registry, Holders(services)
        told = await services.retention.retain(registry, holders, asked)
        if pruned := await services.pruning_old.prune(registry, holders, asked):
            told = {**told, "off": False, **pruned}
        return told

    return Deferred(run)


def purged(services: Services, _call: Call, asked: params.Gone) -> Deferred:
    """List the agents that any client has purged."""

    async def run() -> Result:
        return {"purged": await services.store.read(those_purged, Texts(asked.ids))}

    return Deferred(run)
