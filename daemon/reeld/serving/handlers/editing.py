"""The handler of ``edits``."""

from reeld.core.commands import not_found
from reeld.protocol import params
from reeld.search.edit_pages import EditPages
from reeld.search.edits import END, WantedEdits
from reeld.search.hit_pages import HitPages
from reeld.search.shown_edits import Spot
from reeld.serving.call import Call, Detached, Result, Services
from reeld.store import queries
from reeld.store.hidden import hidden


def edits(services: Services, _call: Call, asked: params.Edits) -> Detached:
    """List what calls read, wrote and ran in all conversations."""

    async def run() -> Result:
        if asked.wait:
            await services.search.catch_up(asked.wait / 1000)
        agents = await _agents(services, asked)
        unseen = await hidden(services.store, asked.without_tag)
        await services.search.opened()
        wanted = WantedEdits(asked.path, agents, unseen, asked.deed, asked.command, asked.texts)
        before = END if asked.after is None else Spot(*asked.after)
        page = await EditPages(services.search).newest(wanted, asked.limit, before)
        following = {} if page.next is None else {"next": page.next}
        return {"edits": page.edits, "more": page.next is not None, **following, "behind": page.behind}

    return Detached(run)


async def _agents(services: Services, asked: params.Edits) -> frozenset[int] | None:
    """Return the rows of the agents that are asked for; ``None`` for all."""
    agents: frozenset[int] | None = None
    if asked.agent is not None:
        profile = await services.store.read(queries.find, asked.agent)
        if profile is None:
            raise not_found(asked.agent)
        agents = frozenset({profile.row})
    if asked.dirs is not None:
        begun = frozenset(await HitPages(services.search).begun_in(asked.dirs))
        agents = begun if agents is None else agents & begun
    return agents
