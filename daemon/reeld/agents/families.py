"""Commands on what an agent is called, and on whether it lives: change, kill and revive, alone or with all its clones.

A family is locked as a whole, and committed in one transaction. A clone that is made or revived meanwhile, here or by
another daemon, makes that transaction fail, and the command begins again.
"""

from reeld.agents.executor import Work, row_named
from reeld.core import commands
from reeld.core.stage import Reply
from reeld.core.state import info
from reeld.protocol.params import Change, Kill, Revive
from reeld.store import queries
from reeld.store.transactions import Family


async def change(work: Work, asked: Change) -> Reply:
    """Change an agent's name, title or tags."""
    target = work.alone()
    before = target.profile.name
    reply = commands.change(target.stage, *asked)
    if asked.name not in (None, before):
        await work.claim(asked.name, target.row)
    target.is_changed = True
    return {**reply, "attached": work.registry.bus.attached(target.row)}


async def kill(work: Work, asked: Kill) -> Reply:
    """Kill an agent, and with ``cascade`` all its live clones."""
    root = work.alone()  # its head counts even if it is killed already, and nothing is staged for it
    killed = []
    for agent in work.agents:
        target = work.target(agent)
        if target.profile.alive:
            by = None if target is root else root.profile.uid
            commands.kill(target.stage, by, asked.reason, cascade=asked.cascade)
            target.is_changed = True
            killed.append(target.profile.uid)
    return {"killed": killed, "agent": root.profile.uid, "head": root.profile.head}


async def revive(work: Work, asked: Revive) -> Reply:
    """Revive an agent, and with ``cascade`` all its killed clones.

    A clone whose name now belongs to another agent stays killed, and is listed in the reply. So is the older of two
    clones with the same name.

    Raises:
        Exists: the agent's own name belongs to another live agent.
    """
    root = work.alone()  # its head counts even if it is alive already
    revived: list[str] = []
    taken: list[str] = []
    names: set[str] = set()
    for agent in [work.agents[0], *sorted(work.agents[1:], key=lambda agent: -agent.row)]:
        target = work.target(agent)
        profile = target.profile
        if profile.alive:
            continue
        if target is not root and (profile.name in names or await row_named(work.store, profile.name) is not None):
            taken.append(profile.uid)
            continue
        names.add(profile.name)
        commands.revive(target.stage)
        target.is_changed = True
        revived.append(profile.uid)
    reply = info(root.profile, root.state.conversation, work.registry.bus.attached(root.row))
    return {**reply, "revived": revived, "taken": taken} if asked.cascade else reply


async def live_clones(work: Work) -> set[int]:
    """Return the rows of the clones that a cascading kill locks."""
    return await _clones(work, alive=True)


async def killed_clones(work: Work) -> set[int]:
    """Return the rows of the clones that a cascading revival locks."""
    return await _clones(work, alive=False)


async def _clones(work: Work, *, alive: bool) -> set[int]:
    """Return the clones of the first agent that are alive, or killed, and the others that are in memory.

    One of these that is revived or cloned during a cascading kill would survive it. Agents that are not in memory can
    act only after the command, because it is queued without awaiting anything.
    """
    root = work.agents[0].row
    clones = await work.store.read(queries.descendants, root)
    work.family = Family(root, clones)
    return {row for row, is_alive in clones.items() if is_alive == alive or work.registry.live(row)}
