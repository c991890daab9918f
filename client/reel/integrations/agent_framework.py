"""A history provider of Microsoft's Agent Framework: its sessions are agents of the daemon. See docs/frameworks.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeVar

try:
    from agent_framework import HistoryProvider, Message
    from agent_framework._sessions import filter_new_messages
    from agent_framework.exceptions import IntegrationException, IntegrationInvalidRequestException
except ImportError as error:
    raise ImportError(
        "reel.integrations.agent_framework needs agent-framework-core, which is not installed; install it with: "
        "pip install 'reeld[agent-framework]'"
    ) from error

from reel import requests
from reel.errors import Conflict, InvalidMessage, InvalidParams, NotFound, ReelError, TooLarge
from reel.integrations.agent_framework_items import Json, messages_of
from reel.integrations.agent_framework_reading import ADDITIONAL, PYTHON_JSON, messages_in
from reel.integrations.naming import Named, named
from reel.integrations.worker import Worker
from reel.messages import NewMessage
from reel.replies import ItemsPage
from reel.requests import Call
from reel.sync.client import Client

R = TypeVar("R")

_FORMAT: Final = "x-agent-framework"
# The session of a call that names none, as with the framework's own provider of files.
_DEFAULT_SESSION: Final = "default"
# The most messages on a page, and so the most that ``last`` may be.
_PAGE: Final = 10_000
# The errors that are about what was given, and not about the daemon.
_REFUSALS: Final = (InvalidMessage, InvalidParams, TooLarge)


class ReelHistoryProvider(HistoryProvider):  # type: ignore[misc] # the framework's types are not read
    """Keeps the history of sessions, for ``Agent(client, context_providers=[ReelHistoryProvider()])``.

    It may be used from several event loops, threads and processes. If the daemon is restarted, a call waits for it, and
    is carried out once. Messages that were saved before are not saved again, as with the framework's own providers.

    Whatever the daemon refuses or does not answer is the framework's ``IntegrationException``, or its
    ``IntegrationInvalidRequestException`` if it is about what was given; its cause is the :class:`reel.ReelError`.

    Args:
        source_id: what the framework calls this provider. Two providers of one agent need different ones, and different
            prefixes.
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: what the names of the agents begin with; :func:`reel.integrations.naming.named` adds the session's id.
        load_messages: read the messages of the session before a run.
        store_inputs: save what was said to the agent.
        store_context_messages: save what other providers added.
        store_context_from: only from the providers with these ids.
        store_outputs: save what the agent answered.
        skip_excluded: leave out the messages that a compaction marked as excluded.

    Raises:
        ValueError: no name of an agent can begin with the prefix.
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
        messages = await self._run(lambda client: _read(client, agent))
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
        """Add messages to a session, all or none; those that it ends with already are not added again.

        Args:
            session_id: the session; ``None`` and an empty text are the session ``default``.
            messages: the messages.
            state: not used.
            **kwargs: not used.

        Raises:
            IntegrationInvalidRequestException: one of them is no message, or has what JSON cannot express; nothing was
                added.
            IntegrationException: the agent was killed (``reel revive`` brings it back), or no daemon answers.
        """
        del state, kwargs
        name = self._named(session_id)
        if messages:
            given = list(messages)
            await self._run(lambda client: _save(client, name, given))

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


@contextmanager
def _as_theirs() -> Iterator[None]:
    """Raise the framework's exceptions in the place of ours."""
    try:
        yield
    except _REFUSALS as error:
        raise IntegrationInvalidRequestException(str(error)) from error
    except ReelError as error:
        raise IntegrationException(str(error)) from error


def _read(client: Client, agent: str) -> list[Message]:
    try:
        # All pages are of one state: the client reads the later ones as of the first.
        pages = client.pages(_items(agent, limit=_PAGE))
        return [message for page in pages for message in messages_in(page.items)]
    except NotFound:
        return []


def _save(client: Client, name: Named, messages: list[Any]) -> None:
    items = [_item(message, f"messages[{index}]") for index, message in enumerate(messages)]
    while True:
        head, before = _newest(client, name.name, len(messages) + 1)
        # Always the last of them: what is there already is at their beginning.
        new = items[len(messages) - len(filter_new_messages(before, messages)) :]
        if not new:
            return
        try:
            client.add_items(
                name.name,
                f"[{','.join(item.text for item in new)}]",
                _FORMAT,
                create=head == 0 or None,
                tags=name.tags if head == 0 else None,
                messages=[item.messages for item in new],
                if_seq=head,
            )
        except Conflict:
            continue  # somebody else wrote meanwhile: what is new now?
        return


def _newest(client: Client, agent: str, count: int) -> tuple[int, list[Message]]:
    """Return the head of an agent, or 0 if it does not exist, and its newest messages to compare a longer list with.

    That are so many of the newest messages, or all of them if there are fewer.
    """
    try:
        asked = min(count, _PAGE)
        page = client.call(_items(agent, last=asked))
        found = messages_in(page.items)
        if not page.more and (len(page.items) < asked or len(found) == count):
            return page.head, found
        # Some of them are not for the framework to read, or they are too many for a page: then older ones count.
        pages = client.pages(_items(agent, limit=_PAGE, at=page.head))
        return page.head, [message for page in pages for message in messages_in(page.items)]
    except NotFound:
        return 0, []


def _clear(client: Client, agent: str) -> None:
    try:
        client.clear(agent)
    except NotFound:
        return


class _Made(NamedTuple):
    """A message as it is sent: its item as JSON, and the messages of what it says."""

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
    """Return the item of a message without what ``Message`` adds by itself; it is half of a short message."""
    beside = {key: value for key, value in item.items() if key != "type" and (value or key != ADDITIONAL)}
    return {**beside, "contents": [_without_empty(content) for content in item["contents"]]}


def _without_empty(content: Json) -> Json:
    return {key: value for key, value in content.items() if value or key != ADDITIONAL}


def _items(agent: str, **window: int) -> Call[ItemsPage]:
    """Return the call that reads a page of items, with their JSON as text: Python's parser is the fastest."""
    return requests.items(agent, _FORMAT, **window)._replace(read=lambda result: ItemsPage(**result))
