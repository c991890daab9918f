"""Killing and reviving an agent, alone or with all its clones: one command for all of them.

The whole family is locked, and committed in one transaction. A clone that is made or revived meanwhile, here or by
another daemon, makes that transaction fail, and the command begins again.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from reeld.agents.agent import Agent, write
from reeld.agents.idempotency import CommandOptions, first_reply, key_row
from reeld.agents.registry import Registry
from reeld.core import commands
from reeld.core.commands import Reply
from reeld.core.state import info
from reeld.store.transactions import AgentWrite, Family, Transaction


async def kill(registry: Registry, options: CommandOptions, root: Agent, reason: str | None, *, cascade: bool) -> Reply:
    """Kill an agent, and with ``cascade`` all its live clones in the same transaction."""
    async with _family(registry, root, alive=True, cascade=cascade) as (agents, family):
        root = agents[0]
        root.stage(options)  # checks if_seq even if the root is killed already, and nothing is staged for it
        by = root.committed.profile.uid
        parts: list[_Part] = []
        for agent in agents:
            if agent.committed.profile.alive:
                stage = agent.stage(CommandOptions(client=options.client))
                commands.kill(stage, None if agent is root else by, reason, cascade=cascade)
                parts.append(_Part(agent, AgentWrite(stage.profile, stage.events, changed=True)))
        profile = next((part.write.profile for part in parts if part.agent is root), root.committed.profile)
        reply: Reply = {"killed": [part.uid for part in parts], "agent": profile.uid, "head": profile.head}
        return await _commit_all(registry, options, agents, parts, reply, family)


async def revive(registry: Registry, options: CommandOptions, root: Agent, *, cascade: bool) -> Reply:
    """Revive an agent, and with ``cascade`` all its killed clones in the same transaction.

    A clone whose name now belongs to another agent stays killed, and is listed in the reply. So is the older of two
    clones with the same name.

    Raises:
        Exists: the agent's own name belongs to another live agent.
    """
    async with _family(registry, root, alive=False, cascade=cascade) as (agents, family):
        root = agents[0]
        root.stage(options)  # checks if_seq even if the root is alive already
        parts: list[_Part] = []
        taken: list[str] = []
        names: set[str] = set()
        for agent in [root, *sorted(agents[1:], key=lambda agent: -agent.row)]:
            profile = agent.committed.profile
            if profile.alive:
                continue
            if agent is not root and (profile.name in names or await _is_taken(registry, profile.name)):
                taken.append(profile.uid)
                continue
            names.add(profile.name)
            stage = agent.stage(CommandOptions(client=options.client))
            commands.revive(stage)
            parts.append(_Part(agent, AgentWrite(stage.profile, stage.events, changed=True)))
        profile = next((part.write.profile for part in parts if part.agent is root), root.committed.profile)
        reply: Reply = info(profile, root.committed.conversation, registry.bus.attached(root.row))
        if cascade:
            reply |= {"revived": [part.uid for part in parts], "taken": taken}
        return await _commit_all(registry, options, agents, parts, reply, family)


async def _is_taken(registry: Registry, name: str) -> bool:
    found = await registry.store.find(name)
    return found is not None and found.alive


class _Part(NamedTuple):
    """The part of a command on several agents that one of them writes."""

    agent: Agent
    write: AgentWrite

    @property
    def uid(self) -> str:
        return self.write.profile.uid


@asynccontextmanager
async def _family(
    registry: Registry, root: Agent, *, alive: bool, cascade: bool
) -> AsyncIterator[tuple[list[Agent], Family | None]]:
    """Lock an agent, and with ``cascade`` all its live, or killed, clones; yield these, and all clones.

    The agent itself comes first.

    The other clones are locked too if they are in memory: one that is revived or cloned during a cascading kill would
    survive it. Agents that are not in memory can act only after the command, because it is queued without awaiting
    anything.
    """
    agents = [root]
    while True:
        async with registry.lock(agents) as locked:
            clones = await registry.store.descendants(root.row) if cascade else {}
            wanted = {row for row, is_alive in clones.items() if is_alive == alive or registry.live(row)}
            missing = wanted.difference(agent.row for agent in locked)
            if not missing:
                yield locked, Family(root.row, clones) if cascade else None
                return
        agents += await registry.start_all(missing)


async def _commit_all(
    registry: Registry,
    options: CommandOptions,
    agents: list[Agent],
    parts: list[_Part],
    reply: Reply,
    family: Family | None,
) -> Reply:
    """Commit the parts of one command; if there is nothing to write, return the first reply under its key, if any.

    It depends on the states of all locked agents: one that needs no kill, because it is dead, may have been revived.
    """
    if not parts:
        return await first_reply(registry.store, options.key) or reply
    first = parts[0].write.events[0]
    reply["command"], reply["time"] = first.seq, first.time
    # A key belongs to the agent whose command its reply names: the root, unless nothing was written for it.
    keys = [] if options.key is None else [key_row(options.key, parts[0].agent.row, reply, first.seq)]

    def on_commit(firsts: list[int]) -> None:
        for part, first in zip(parts, firsts, strict=True):
            part.agent.apply(part.write, first)
            registry.reindex(part.agent)

    writes, reads = [part.write for part in parts], frozenset(agent.row for agent in agents)
    await write(registry.store, Transaction(writes, keys, reads=reads, family=family), on_commit)
    return reply
