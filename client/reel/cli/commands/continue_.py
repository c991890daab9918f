"""The command ``continue``: go on with the last conversation of this directory."""

import os
from itertools import islice

from reel import requests
from reel.base.place import DIRECTORY
from reel.cli.commands.shared.via import has_provider
from reel.cli.commands.show import transcript_for
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.agent_list import Table
from reel.reading.wording import age, full_time
from reel.replies import AgentRow

# The tag of a sub-agent's conversation with what called it.
_PARENT = "parent"
# The tag of a conversation that a program began, with its kind.
_RUN = "run"
# How many of the agents that changed last are looked at, and how many messages of the chosen one are shown.
_NEWEST = 50
_SHOWN = 2


def continue_last(ctx: Context) -> int:
    """Go on with the last conversation of this directory, or of the nearest one above that has any."""
    directory, agents = _conversations(ctx)
    if not agents:
        ctx.out.warn(f"no conversation has the tag cwd={os.getcwd()}; list all with: {ctx.command('list')}")
        return REFUSED
    if ctx.args.listed:
        _list(ctx, agents)
    elif ctx.out.as_json:
        ctx.out.document(agents[0])
    elif not ctx.out.terminal:
        ctx.out.line(agents[0].name)
    else:
        if len(agents) > 1:
            ctx.out.hint(
                f"the last of {len(agents)} conversations in {directory}; list them with: reel continue --list"
            )
        return go_on(ctx, agents[0])
    return OK


def _conversations(ctx: Context) -> tuple[str, list[AgentRow]]:
    """Return the directory, and its conversations, the most recent first, after those of people those of programs."""
    for directory in _directories():
        call = requests.agents(alive=True, order="updated", details=True, tags={DIRECTORY: directory}, limit=_NEWEST)
        rows = [row for page in islice(ctx.client.pages(call), 1) for row in page.agents if _PARENT not in row.tags]
        if rows:
            return directory, sorted(rows, key=lambda row: (_RUN not in row.tags, _last_said(row)), reverse=True)
    return "", []


def _directories() -> list[str]:
    """Return this directory, by the name that the shell has for it and by its own, and all above it."""
    own = os.getcwd()
    given = os.environ.get("PWD", own)
    found: dict[str, None] = {}
    for directory in (given if os.path.isabs(given) and os.path.realpath(given) == own else own, own):
        while directory not in found:
            found[directory] = None
            directory = os.path.dirname(directory)  # noqa: PLW2901 - it goes up
    return sorted(found, key=len, reverse=True)


def _last_said(row: AgentRow) -> int:
    """Return when the last message was said; an older daemon does not tell, only when the agent changed."""
    if row.said is None:
        return row.updated if row.messages else row.created
    return row.said


def _list(ctx: Context, agents: list[AgentRow]) -> None:
    if ctx.out.as_json:
        ctx.out.documents(agents)
    else:
        table = Table(ctx.out.width, age if ctx.out.terminal else full_time)
        ctx.out.lines(table.lines(("", row) for row in agents))


def go_on(ctx: Context, agent: AgentRow) -> int:
    """Chat if there is a provider; else show the last messages, and say how to go on."""
    ctx.use_as_agent(agent.name)
    if has_provider(ctx):
        from reel.cli.commands.chat import chat  # noqa: PLC0415 - only with a provider

        return chat(ctx)
    transcript = transcript_for(ctx, folds=True, brief=True)
    for message in ctx.client.messages(agent.id, last=_SHOWN).messages:
        ctx.out.lines(transcript.message(message))
    ctx.out.hint(f"go on with: {ctx.command('chat', agent.name, '--via', 'COMMAND')}, or add to it after:")
    ctx.out.hint(f"export REEL_AGENT={agent.name}")
    return OK
