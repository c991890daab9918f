"""Remembers the values beside conversations, so that they are read again only if something may have changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from reel import requests
from reel.base.light_typing import NamedTuple
from reel.integrations.newest import Newest
from reel.integrations.unchanged import after_events, is_unchanged

if TYPE_CHECKING:
    from reel.replies import Added, AddedItems, PartResult
    from reel.sync.client import Client

# The size in characters of the values of an agent that are remembered.
_LARGEST: Final = 1 << 18
_PAGE: Final = 10_000


class _Known(NamedTuple):
    """What was read: the agent's id, the connection, its fingerprint, and the values as texts."""

    agent: str
    server: Any
    fingerprint: Any
    texts: dict[str, str]


class KnownValues:
    """The values of agents, by the agents' names, as texts of JSON that are equal if the values are.

    Args:
        most: the number of agents whose values are remembered.
    """

    def __init__(self, most: int) -> None:
        self._known = Newest[str, _Known](most)

    def read(self, client: Client, name: str) -> Mapping[str, str]:
        """Return the values beside a conversation; nothing is asked if nothing has changed.

        Raises:
            NotFound: there is no such agent.
        """
        known = self._known.get(name)
        if known is None or not is_unchanged(client, known.server, known.agent, known.fingerprint):
            known = _read(client, name, "" if known is None else known.agent)
        self._keep(name, known)
        return known.texts

    def note(self, name: str, added: Added | AddedItems | PartResult, changes: Mapping[str, str | None]) -> None:
        """Note a command of this program.

        Args:
            name: the agent's name.
            added: the reply.
            changes: the values that it has set, as texts; ``None`` for one that it has removed.
        """
        known = self._known.pop(name, None)
        if known is None or known.agent != added.agent or added.replaced or added.numbers_as_text:
            return
        fingerprint = after_events(known.fingerprint, added.head - added.command + 1)
        texts = {key: text for key, text in {**known.texts, **changes}.items() if text is not None}
        self._keep(name, known._replace(fingerprint=fingerprint, texts=texts))

    def _keep(self, name: str, known: _Known) -> None:
        if sum(map(len, known.texts.values())) > _LARGEST:
            known = known._replace(fingerprint=None, texts={})
        self._known[name] = known


def values_of(client: Client, agent: str) -> dict[str, Any]:
    """Return the values beside a conversation.

    Raises:
        NotFound: there is no such agent.
    """
    pages = client.pages(requests.state(agent, limit=_PAGE))
    return {found.key: found.value for page in pages for found in page.values}


def text_of(value: Any) -> str:
    """Return a text that is equal for equal values; 1 and true are equal in Python, and not here."""
    return json.dumps(value, sort_keys=True)


def _read(client: Client, name: str, agent: str) -> _Known:
    """Read values; if the agent has the id that it had before, a later read need not ask."""
    server = client.server
    fingerprint = client.fingerprint(server, agent) if agent else None  # before: what changes later is noticed
    pages = [*client.pages(requests.state(name, limit=_PAGE))]
    texts = {found.key: text_of(found.value) for page in pages for found in page.values}
    is_same = pages[0].agent == agent and client.server is server
    return _Known(pages[0].agent, server, fingerprint if is_same else None, texts)
