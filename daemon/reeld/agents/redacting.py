"""The command ``redact``: a marker in place of what was said, for everybody who has it in their past."""

import logging
import os
from functools import partial

import anyio

from reel.base.light_typing import NamedTuple
from reel.reading.wording import utc_minute
from reeld.agents.agent import Agent
from reeld.agents.clock import now
from reeld.agents.erasing import LISTED, ContentHolders, Erasure, cleaned, erase, freeing, reload, uids
from reeld.agents.executor import Work, locked
from reeld.agents.idempotency import CommandOptions, first_reply
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.redaction import Redaction
from reeld.core.stage import Reply
from reeld.store.erasures import Order
from reeld.store.redacting import Past, plan_past, plan_redaction
from reeld.store.redactions import Redactions

log = logging.getLogger(__name__)


class RedactOptions(NamedTuple):
    """What a redaction removes: the content of some events, or some texts wherever they are."""

    seqs: list[int] | None
    texts: tuple[str, ...]
    backups: tuple[str, ...]
    dry_run: bool


async def redact(
    registry: Registry, holders: ContentHolders, options: CommandOptions, agent: Agent, asked: RedactOptions
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
                await reload(work.agents)
                holders.forget({each.row for each in work.agents}, redaction.touches)
        return await cleaned(registry, reply)


async def _told(registry: Registry, planned: Redactions) -> Reply:
    """Return the part of a reply that describes a redaction."""
    ids = await uids(registry, planned.affected)
    shown = [{"agent": ids[each.owner], "seq": each.seq} for each in planned.found[:LISTED] if each.owner in ids]
    return {"redacted": len(planned.found), "events": shown, "affected": [*ids.values()]}


def _about(time: int, client: str | None) -> str:
    """Return when something is redacted and by whom."""
    return f"{utc_minute(time)} by {client}" if client else utc_minute(time)
