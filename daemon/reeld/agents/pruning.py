"""The command ``prune``: what was said before a point, and nothing can reach any more, is removed."""

import logging

import anyio

from reel.base.errors import InvalidParams
from reel.base.light_typing import NamedTuple
from reel.reading.wording import utc_minute
from reeld.agents.agent import Agent
from reeld.agents.clock import now
from reeld.agents.erasing import ContentHolders, Erasure, cleaned, erase, freeing, reload, uids
from reeld.agents.executor import Work, locked
from reeld.agents.idempotency import CommandOptions, first_reply
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.pruning import Pruning
from reeld.core.stage import Reply
from reeld.store.erasures import Order
from reeld.store.pruned import not_gone_yet
from reeld.store.pruning import Point, Program, Pruned, plan_prune

log = logging.getLogger(__name__)


class PruneOptions(NamedTuple):
    """Up to where a log is pruned, what a program says that keeps records in it, and whether it is only tried."""

    point: Point
    program: Program
    dry_run: bool


async def prune(
    registry: Registry, holders: ContentHolders, options: CommandOptions, agent: Agent, wanted: PruneOptions
) -> Reply:
    """Remove what was said in an agent's log before a point, and nothing can reach any more; then clean the file.

    Raises:
        Storage: it cannot be written.
    """
    async with registry.store.eraser.turn():
        reply = await prune_log(registry, holders, options, agent, wanted)
        wrote = "command" in reply and "repeated" not in reply
        return await cleaned(registry, reply) if wrote else reply


async def prune_log(
    registry: Registry, holders: ContentHolders, options: CommandOptions, agent: Agent, wanted: PruneOptions
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
        heirs = await uids(registry, planned.heirs)
        told: Reply = {
            "agent": stage.base.uid,
            "head": stage.head,
            "before": planned.before,
            "pruned": len(found.found),
            "bytes": planned.size,
            "kept": planned.kept,
            "heirs": [*heirs.values()],
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
            await reload(work.agents)
            holders.forget({each.row for each in work.agents}, lambda _: False)
        return reply
