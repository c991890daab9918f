"""A history provider of Microsoft's Agent Framework: its sessions are agents of the daemon. See docs/frameworks.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, Final, Self, TypeVar

from agent_framework import HistoryProvider, Message
from agent_framework.exceptions import IntegrationException, IntegrationInvalidRequestException

from reel import requests
from reel.base.errors import Conflict, InvalidMessage, InvalidParams, Killed, NotFound, ReelError, TooLarge
from reel.base.light_typing import NamedTuple
from reel.integrations.agent_framework.items import Json, messages_of
from reel.integrations.agent_framework.reading import ADDITIONAL, PYTHON_JSON, messages_in, not_stored
from reel.integrations.naming import Named, named
from reel.integrations.newest import Newest
from reel.integrations.worker import Worker
from reel.replies import Hello, ItemsPage
from reel.requests import Call
from reel.said.messages import NewMessage
from reel.sync.client import Client

try:
    from agent_framework._sessions import filter_new_messages
except ImportError:  # a private name, which another version may lack
    filter_new_messages = not_stored

R = TypeVar("R")

_FORMAT: Final = "x-agent-framework"
# The session of a call without a session id, as in the framework's own file provider.
_DEFAULT_SESSION: Final = "default"
# The maximum number of messages on a page, and so the maximum of ``last``.
_PAGE: Final = 10_000
# Of how many sessions a provider knows the newest messages, and how many of these.
_SESSIONS: Final = 64
_NEWEST: Final = 16
# The characters of these that it knows at most: pictures are large.
_REMEMBERED: Final = 1 << 18
# The errors that concern the input, rather than the daemon.
_REFUSALS: Final = (InvalidMessage, InvalidParams, TooLarge)


class _End(NamedTuple):
    """How a session ended when it was read: the connection, the agent's id and head, and its newest items."""

    server: Hello | None
    agent: str
    head: int
    items: list[Any]


class _Newest(NamedTuple):
    """How a session ends: the agent's name or id, its head, or 0 if it does not exist, and its newest messages."""

    agent: str
    head: int
    messages: list[Message]


class ReelHistoryProvider(HistoryProvider):  # type: ignore[misc] # the framework's types are not read
    """Keeps the history of sessions, for ``Agent(client, context_providers=[ReelHistoryProvider()])``.

    It can be used from several event loops, threads and processes. If the daemon is restarted, a call waits for it, and
    is carried out once. Messages that were saved before are not saved again, as in the framework's own providers.

    If the daemon refuses a call or does not answer, the framework's ``IntegrationException`` is raised, or its
    ``IntegrationInvalidRequestException`` if the input is invalid; the cause is the :class:`reel.ReelError`.

    Args:
        source_id: the framework's id of this provider. Two providers of one agent need different ones, and different
            prefixes.
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: the prefix of the agents' names; :func:`reel.integrations.naming.named` adds the session's id.
        load_messages: read the messages of the session before a run.
        store_inputs: save the agent's input.
        store_context_messages: save the messages that other providers added.
        store_context_from: only from the providers with these ids.
        store_outputs: save the agent's answers.
        skip_excluded: leave out the messages that a compaction marked as excluded.

    Raises:
        ValueError: the prefix is not valid in an agent's name.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "reel"

    def __init__(  # noqa: PLR0913 - the framework's options, and ours
        self,
        source_id: str = DEFAULT_SOURCE_ID,
        *,
        socket: str | None = None,
        autostart: bool = False,
        prefix: str = "agent-framework/",
        load_messages: bool = True,
        store_inputs: bool = True,
        store_context_messages: bool = False,
        store_context_from: set[str] | None = None,
        store_outputs: bool = True,
        skip_excluded: bool = False,
    ) -> None:
        super().__init__(
            source_id,
            load_messages=load_messages,
            store_inputs=store_inputs,
            store_context_messages=store_context_messages,
            store_context_from=store_context_from,
            store_outputs=store_outputs,
        )
        try:
            named(prefix, _DEFAULT_SESSION)
        except InvalidParams as error:
            raise ValueError(error.message) from error
        self.prefix = prefix
        self.skip_excluded = skip_excluded
        self._worker = Worker(socket, autostart=autostart, name="agent-framework")
        # How the sessions ended that were read, by the names of their agents, until they are saved. The worker's thread
        # has it alone.
        self._ends = Newest[str, _End](_SESSIONS)

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return the messages of a session, the oldest first.

        Args:
            session_id: the session; ``None`` and an empty text are the session ``default``.
            state: not used.
            **kwargs: not used.
        """
        del state, kwargs
        agent = self._named(session_id).name
        messages = await self._run(lambda client: self._read(client, agent))
        if self.skip_excluded:
            return [message for message in messages if not message.additional_properties.get("_excluded", False)]
        return messages

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Add messages to a session, all or none; those that it already ends with are not added again.

        Args:
            session_id: the session; ``None`` and an empty text are the session ``default``.
            messages: the messages.
            state: not used.
            **kwargs: not used.

        Raises:
            IntegrationInvalidRequestException: one of them is not a message, or JSON cannot represent it; nothing was
                added.
            IntegrationException: the agent was killed (``reel revive`` brings it back), or no daemon answers.
        """
        del state, kwargs
        name = self._named(session_id)
        if messages:
            given = list(messages)
            await self._run(lambda client: self._save(client, name, given))

    async def clear(self, session_id: str | None) -> None:
        """Remove the messages of a session. The log keeps them: ``undo`` brings them back."""
        agent = self._named(session_id).name
        await self._run(lambda client: _clear(client, agent))

    async def close(self) -> None:
        """Close the connection to the daemon; the next call opens another."""
        await self._worker.run(Client.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def _named(self, session_id: str | None) -> Named:
        with _as_theirs():
            return named(self.prefix, session_id or _DEFAULT_SESSION)

    async def _run(self, work: Callable[[Client], R]) -> R:
        with _as_theirs():
            return await self._worker.run(work)

    def _read(self, client: Client, agent: str) -> list[Message]:
        self._ends.pop(agent, None)
        messages: list[Message] = []
        end = None
        try:
            # All pages show one state: the client reads the later pages at the head of the first.
            for page in client.pages(_items(agent, limit=_PAGE)):
                messages += messages_in(page.items)
                before = () if end is None else end.items
                end = _End(client.server, page.agent, page.head, [*before, *page.items][-_NEWEST:])
        except NotFound:
            return []
        if end is not None and _characters(end.items) <= _REMEMBERED:
            self._ends[agent] = end
        return messages

    def _save(self, client: Client, name: Named, messages: list[Any]) -> None:
        items = [_item(message, f"messages[{index}]") for index, message in enumerate(messages)]
        # Most runs have read the session before they are saved, and nobody has written to it since: nothing is asked.
        known = self._known(client, name.name, len(messages) + 1)
        while True:
            agent, head, before = known or _newest(client, name.name, len(messages) + 1)
            # Always the newest ones: their beginning may be stored already.
            new = items[len(messages) - len(filter_new_messages(before, messages)) :]
            if not new:
                if known is None:
                    return
                known = None  # unless it was taken back in the meantime
                continue
            try:
                client.add_items(
                    agent,
                    f"[{','.join(item.text for item in new)}]",
                    _FORMAT,
                    create=head == 0 or None,
                    tags=name.tags if head == 0 else None,
                    messages=[item.messages for item in new],
                    if_seq=head,
                )
            except Conflict:
                known = None  # another client wrote in the meantime: find the new messages again
            except (Killed, NotFound):
                if known is None:
                    raise
                known = None  # the name may have a new agent
            else:
                return

    def _known(self, client: Client, agent: str, count: int) -> _Newest | None:
        """Return how a session ended when it was read; ``None`` if it was not, or if there may be another log now."""
        end = self._ends.pop(agent, None)
        if end is None or not client.is_still(end.server):
            return None
        found = messages_in(end.items[-count:])
        are_all = len(end.items) < min(count, _NEWEST)
        return _Newest(end.agent, end.head, found) if are_all or len(found) == count else None


@contextmanager
def _as_theirs() -> Iterator[None]:
    """Raise the framework's exceptions in place of ours."""
    try:
        yield
    except _REFUSALS as error:
        raise IntegrationInvalidRequestException(str(error)) from error
    except ReelError as error:
        raise IntegrationException(str(error)) from error


def _newest(client: Client, agent: str, count: int) -> _Newest:
    """Return how a session ends, which may not exist; with the ``count`` newest messages, or all if there are fewer."""
    try:
        asked = min(count, _PAGE)
        page = client.call(_items(agent, last=asked))
        found = messages_in(page.items)
        if not page.more and (len(page.items) < asked or len(found) == count):
            return _Newest(agent, page.head, found)
        # Some are not readable for the framework, or they do not fit on a page: then older ones count.
        pages = client.pages(_items(agent, limit=_PAGE, at=page.head))
        return _Newest(agent, page.head, [message for page in pages for message in messages_in(page.items)])
    except NotFound:
        return _Newest(agent, 0, [])


def _characters(value: Any) -> int:
    """Return how long the texts in a JSON value are; to encode it would take longer the longer they are."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_characters, value.values()))
    return sum(map(_characters, value)) if isinstance(value, list) else 0


def _clear(client: Client, agent: str) -> None:
    try:
        client.clear(agent)
    except NotFound:
        return


class _Made(NamedTuple):
    """A message ready to be sent: its item as JSON, and its content as messages of the protocol."""

    text: str
    messages: list[NewMessage]


def _item(message: Any, where: str) -> _Made:
    if not isinstance(message, Message):
        raise InvalidMessage(f"{where}: expected a Message of the framework, got a {type(message).__name__}")
    try:
        item = _lean(message.to_dict())
        said = messages_of(item)
        try:
            return _Made(json.dumps(item, allow_nan=False), said)
        except ValueError:
            return _Made(json.dumps({PYTHON_JSON: json.dumps(item)}), said)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMessage(f"{where}: cannot be JSON: {error}") from error


def _lean(item: Json) -> Json:
    """Return the item of a message without the fields that ``Message`` adds, which are half of a short message."""
    beside = {key: value for key, value in item.items() if key != "type" and (value or key != ADDITIONAL)}
    return {**beside, "contents": [_without_empty(content) for content in item["contents"]]}


def _without_empty(content: Json) -> Json:
    return {key: value for key, value in content.items() if value or key != ADDITIONAL}


def _items(agent: str, **window: int) -> Call[ItemsPage]:
    """Return the call that reads a page of items, with their JSON as text: Python's parser is fastest."""
    return requests.items(agent, _FORMAT, **window)._replace(read=lambda result: ItemsPage(**result))
