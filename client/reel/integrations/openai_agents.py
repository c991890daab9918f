"""Sessions of OpenAI's Agents SDK: the conversation is an agent of the daemon. docs/frameworks.md has an example."""

from __future__ import annotations

from typing import Any, Final

try:
    from agents.memory.session_settings import SessionSettings, coerce_session_settings
except ImportError as error:
    raise ImportError(
        "reel.integrations.openai_agents needs openai-agents, which is not installed; install it with: "
        "pip install 'reeld[openai-agents]'"
    ) from error

from reel import requests
from reel.errors import Conflict, NotFound
from reel.integrations.item_copy import ItemCopy
from reel.integrations.naming import named
from reel.integrations.worker import Worker
from reel.messages import Item
from reel.sync.client import Client

_FORMAT: Final = "openai-responses"
# The most messages on a page, and so the most that ``last`` may be.
_PAGE = 10_000


class ReelSession:
    """A session of OpenAI's Agents SDK, for ``Runner.run(…, session=ReelSession("demo"))``.

    It may be used from several event loops, threads and processes. If the daemon is restarted, a call waits for it, and
    is carried out once. A killed agent can be read; whatever writes to it raises :class:`reel.Killed`.

    Args:
        session_id: the id of the session, any text; :func:`reel.integrations.naming.named` makes a name of it.
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: what the name of the agent begins with.
        session_settings: settings of the SDK, such as how many items are read by default.

    Raises:
        InvalidParams: the id is not a text, or no name can begin with the prefix.
        TypeError: there is no such setting.
    """

    def __init__(
        self,
        session_id: str,
        *,
        socket: str | None = None,
        autostart: bool = False,
        prefix: str = "",
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or {})
        self.agent, self._tags = named(prefix, session_id)
        self._copy = ItemCopy(self.agent, _FORMAT)
        self._worker = Worker(socket, autostart=autostart, name="openai-agents")

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items, the oldest first.

        Args:
            limit: only so many of the newest items. Default: that of the settings, else all items. With 0 there are
                none; a negative one means all, as in the SDK.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await self._worker.run(lambda client: self._read(client, limit))

    async def add_items(self, items: list[Any]) -> None:
        """Add items, all or none.

        Args:
            items: input items of Responses.

        Raises:
            InvalidMessage: one of them is not an object, or has what JSON cannot express; nothing was added.
            Killed: the agent was killed; ``reel revive`` brings it back.
        """
        if items:
            await self._worker.run(lambda client: self._add(client, items))

    async def pop_item(self) -> Any | None:
        """Remove the newest item and return it, or return ``None`` if the session is empty. ``undo`` brings it back."""
        return await self._worker.run(self._pop)

    async def clear_session(self) -> None:
        """Remove all items. The log keeps them: ``undo`` brings them back."""
        await self._worker.run(self._clear)

    def close(self) -> None:
        """Close the connection to the daemon; the next call opens another."""
        self._worker.close()

    def _read(self, client: Client, limit: int | None) -> list[Any]:
        try:
            if limit is None or limit < 0:
                return self._copy.read(client)
            if limit == 0:
                return []
            newest = [found["item"] for found in client.items(self.agent, _FORMAT, last=min(limit, _PAGE)).items]
            if len(newest) < limit:  # a message may have no item, and then older ones count
                newest = self._copy.read(client)
            return newest[-limit:]
        except NotFound:
            return []

    def _add(self, client: Client, items: list[Any]) -> None:
        try:
            client.add_items(self.agent, items, _FORMAT)
        except NotFound:
            # Not at once with `create`: that would begin again under the name of an agent that somebody has killed.
            client.add_items(self.agent, items, _FORMAT, create=True, tags=self._tags or None)

    def _pop(self, client: Client) -> Any | None:
        while True:
            try:
                head, newest = self._newest(client)
                if not newest:
                    return None
                # A converted message may be several items; those before the newest stay.
                kept = [found["item"] for found in newest[:-1]]
                client.add_items(self.agent, kept, _FORMAT, from_=newest[-1]["seq"], if_seq=head)
            except NotFound:
                return None
            except Conflict:
                continue  # somebody else wrote or popped meanwhile: what is newest now?
            return newest[-1]["item"]

    def _newest(self, client: Client) -> tuple[int, list[Item]]:
        """Return the head, and the items of the newest message that has any."""
        page = client.items(self.agent, _FORMAT, last=1)
        items = page.items
        if not items:  # a message may have no item
            items = [
                found
                for other in client.pages(requests.items(self.agent, _FORMAT, at=page.head))
                for found in other.items
            ]
        return page.head, [found for found in items if found["seq"] == items[-1]["seq"]]

    def _clear(self, client: Client) -> None:
        try:
            client.clear(self.agent)
        except NotFound:
            return
