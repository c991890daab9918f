"""The handler of ``verify``: is what the database holds whole, and is it what runs?"""

from reel.errors import ReelError
from reeld.agents.agent import Agent
from reeld.agents.mail import Look
from reeld.core.commands import not_found
from reeld.core.conversation import Conversation
from reeld.core.state import Profile, State
from reeld.core.stored import Problem
from reeld.serving.call import Aside, Call, Desk, Result
from reeld.store.findings import Findings, Found
from reeld.store.verifying import Verifier


def verify(desk: Desk, _call: Call, agent: str | None) -> Aside:
    """Check the database, the logs and the living states, or those of one agent; nothing is mended."""

    async def run() -> Result:
        row = None if agent is None else await _row_of(desk, agent)
        async with desk.store.verifier() as verifier:
            if row is None:
                await verifier.check_file()
            await verifier.sweep(row)
            for live in desk.registry.live(row):
                await _compare(desk, verifier, live)
            return _told(verifier.findings)

    return Aside(run)


async def _row_of(desk: Desk, address: str) -> int:
    """Find an agent, and let what it was asked for before be done; it need not be one that can be read."""
    live = desk.registry.get(address)
    if live is not None:
        await _look(desk, live)
        return live.row
    profile = await desk.store.find(address)
    if profile is None:
        raise not_found(address)
    return profile.row


async def _compare(desk: Desk, verifier: Verifier, agent: Agent) -> None:
    """Compare a copy of an agent's living state, made in its turn, with the log: the agent need not wait for that."""
    if agent not in desk.registry.live(agent.row):
        return  # it has retired, and there is nothing to compare
    try:
        profile, living = await _look(desk, agent)
    except ReelError as error:
        verifier.findings.note([Problem("unchecked", f"the running state of agent {agent.row}: {error}")])
        return
    await verifier.compare(profile, living)


async def _look(desk: Desk, agent: Agent) -> tuple[Profile, Conversation]:
    def look(state: State) -> tuple[Profile, Conversation]:
        return state.profile, state.conversation.copy()

    found: tuple[Profile, Conversation] = await desk.registry.ask(agent, lambda answer: Look(look, answer))
    return found


def _told(findings: Findings) -> Result:
    return {
        "agents": findings.agents,
        "events": findings.events,
        "problems": [_as_map(found) for found in findings.listed],
        "omitted": findings.omitted,
    }


def _as_map(found: Found) -> dict[str, str | int]:
    problem = found.problem
    fields = {"agent": found.uid, "name": found.name, "seq": problem.seq, "id": problem.event_id}
    given = {field: value for field, value in fields.items() if value is not None}
    return {"what": problem.what, "reason": problem.reason, **given}
