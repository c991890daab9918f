"""The handler of ``agents``."""

from reel.wire.msgpack_codec import packer
from reeld.protocol import params
from reeld.search.query import label_filter
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.store import listing
from reeld.store.hidden import hidden
from reeld.store.listing import Listing
from reeld.wire.encoded import PackedList


def agents(services: Services, _call: Call, asked: params.Agents) -> Deferred:
    """List agents."""
    labels = label_filter(asked.query) if asked.query else None
    accepts, pieces = labels or (None, ())

    async def run() -> Result:
        writers = services.drafts.writers() if asked.details else None
        unseen = await hidden(services.store, asked.without_tag)
        wanted = Listing(asked, writers, accepts, pieces, unseen)
        page = await services.store.read_long(listing.agents, wanted, packer())
        return {"agents": PackedList(page.items), "more": page.more}

    return Deferred(run)
