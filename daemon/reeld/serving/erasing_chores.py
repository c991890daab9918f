"""The chores that erase: what is too old, and what is left of an erasure; and what holds content besides the log."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

import anyio

from reel.base import remembering
from reel.base.light_typing import NamedTuple
from reeld.agents import erasing
from reeld.agents.notice import forget_rules
from reeld.backups.remains import remove_workplace
from reeld.serving.call import Services
from reeld.store.redactions import Text
from reeld.store.retention import Subject

log = logging.getLogger(__name__)

# Seconds between two checks for agents that are too old.
RETENTION_EVERY = 3600.0
# Seconds between two attempts to complete what an erasure left; more if one takes long.
_COMPLETED_EVERY = 20.0
_PAUSES = 10


class Holders(NamedTuple):
    """The search index, rendered histories, drafts, what functions remember, and what a killed restore left behind."""

    services: Services

    def without(self, events: Sequence[int], instead: Mapping[int, Text]) -> AbstractAsyncContextManager[None]:
        """Remove events from the search index; see :class:`reeld.agents.erasing.ContentHolders`."""
        return self.services.search.without(events, instead)

    def forget(self, rows: set[int], touches: Callable[[str], bool]) -> None:
        """Drop what is cached of these agents, and the drafts that contain removed content."""
        self.services.render_cache.forget(rows)
        self.services.drafts.forget(rows, touches)
        remembering.forget()
        self._remove_workplace()

    async def forget_all(self) -> None:
        """Drop everything that is cached, all drafts, and the search index, which is built again."""
        await self.services.search.begin_again()
        self.services.render_cache.forget()
        self.services.drafts.forget()
        remembering.forget()
        self._remove_workplace()

    def _remove_workplace(self) -> None:
        if not self.services.store.is_file:
            return
        try:
            remove_workplace(self.services.store.path)
        except OSError as error:
            log.warning("what is left of a restore cannot be removed: %s: %s", error.filename, error.strerror)


async def keep_retention(services: Services) -> None:
    """Periodically purge and prune what is older than the settings allow; without a limit, forget earlier ones."""
    retention, pruning = services.retention, services.pruning_old
    if not retention.rules.is_on:
        await forget_rules(services.store, Subject.AGENTS)
    if not pruning.is_on:
        await forget_rules(services.store, Subject.HISTORIES)
    while retention.rules.is_on or pruning.is_on:
        if retention.rules.is_on:
            await retention.run(services.registry, Holders(services))
        if pruning.is_on:
            await pruning.run(services.registry, Holders(services))
        await anyio.sleep(RETENTION_EVERY)


async def keep_complete(services: Services) -> None:
    """Complete erasures that could not be completed at once: there was no room, or a reader of an old state."""
    complete = partial(erasing.complete, services.registry, Holders(services))
    while True:
        began = anyio.current_time()
        await services.store.housekeeping.attempt("completing an erasure", complete)
        await anyio.sleep(max(_COMPLETED_EVERY, _PAUSES * (anyio.current_time() - began)))
