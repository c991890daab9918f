"""What imported agents came from: an import must not bring back what was purged."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from reel.base.errors import NotFound
from reel.base.light_typing import NamedTuple
from reel.cli.line.context import Context
from reel.daemon.address import state_directory

# The tags of an imported agent that name the conversation and the file that it came from.
_IMPORT, _SOURCE = "import", "source"


class Origin(NamedTuple):
    """The conversation that an agent was imported from, and its file."""

    conversation: str
    file: str


def imported(ctx: Context) -> dict[str, Origin]:
    """Return the origins of all agents that were imported, by their ids."""
    return _imported_in((row.id, row.tags) for row in ctx.client.iter_agents())


def imported_among(ctx: Context, agents: Iterable[str]) -> dict[str, Origin]:
    """Return the origins of those agents that were imported, by their ids."""
    tags: dict[str, dict[str, str]] = {}
    for agent in agents:
        with suppress(NotFound):
            tags[agent] = ctx.client.agent(agent).tags
    return _imported_in(tags.items())


def _imported_in(tagged: Iterable[tuple[str, dict[str, str]]]) -> dict[str, Origin]:
    return {
        agent: Origin(conversation, tags.get(_SOURCE, ""))
        for agent, tags in tagged
        if (conversation := tags.get(_IMPORT))
    }


def keep_away(ctx: Context, origins: Mapping[str, Origin]) -> None:
    """Remember that these are purged, and erase their originals; warn if that is impossible."""
    if not origins:
        return
    from reel.importing.adding.tombstones import NAME, Tombstones  # noqa: PLC0415 - most purges need no importer

    path = f"{state_directory()}/{NAME}"
    try:
        Tombstones(path, str(ctx.socket)).add(origin.conversation for origin in origins.values())
    except OSError as error:
        ctx.out.warn(f"{path}: {error.strerror}; the next import may bring them back")
    erase_originals_of(ctx, origins)


def erase_originals_of(ctx: Context, origins: Mapping[str, Origin]) -> None:
    """Erase the files of these as they were when they were imported, if they are kept."""
    from reel.cli.commands.shared.kept_originals import erase_originals  # noqa: PLC0415 - most keep none

    erase_originals(
        ctx, {origin.conversation for origin in origins.values()}, {origin.file for origin in origins.values()}
    )


def tell_sources(ctx: Context, origins: Mapping[str, Origin]) -> None:
    """Say which files still have what was purged."""
    for file in dict.fromkeys(origin.file for origin in origins.values()):
        if file and Path(file).exists():
            ctx.out.warn(f"{file} still has it; {ctx.command('import')} leaves it out")
