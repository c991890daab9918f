"""The fast path for requests that add one plain text, as nearly all do.

The signature of ``add`` and its handler read the same requests with the same result, at three times the cost; requests
of any other form, valid or not, are left to them.

Consecutive requests of one connection for the same agent become one job, and get their replies together. So the fixed
cost of a request is paid once for all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any, NamedTuple

from reel.errors import InvalidParams
from reel.frames import Request
from reel.values import is_clean
from reeld.agents.agent import Agent
from reeld.agents.idempotency import IdempotencyKey
from reeld.agents.jobs import WriteTexts
from reeld.core.commands import PlainText
from reeld.core.validation import plain_text
from reeld.serving.call import Call, Outcome, Peer
from reeld.serving.params import label
from reeld.store.transactions import DivergedError

# The required fields of a request, and the optional ones.
_LEAST = 2
# Creates a named tuple in half the time that calling its class takes.
_new = tuple.__new__


class PlainAdd(NamedTuple):
    """The parameters of an ``add`` of one plain text.

    Args:
        address: of the agent.
        kind: of the row.
        content: the text.
        messages: the parameter that it came in.
        create: the parameter of this name.
        key: the idempotency key.
    """

    address: str
    kind: str
    content: str
    messages: Any
    create: bool | None
    key: str | None


class TextCalls:
    """Consecutive requests of one connection that each add a plain text to one agent.

    Args:
        peer: who asks.
        address: how the agent is named.
        agent: the agent.
        place: the place of the first one in the order of arrival.
        settle: takes the outcomes of some of the requests, from the one with this index on.
    """

    __slots__ = ("_settle", "address", "agent", "began", "keys", "peer", "place", "requests", "texts")

    def __init__(
        self,
        peer: Peer,
        address: str,
        agent: Agent,
        place: int,
        settle: "Callable[[TextCalls, int, Sequence[Outcome | DivergedError]], None]",
    ) -> None:
        self.peer = peer
        self.address = address
        self.agent = agent
        self.place = place
        # When the first one was read, on the monotonic clock.
        self.began = monotonic()
        self.requests: list[Request] = []
        # The text and the key of each.
        self.texts: list[PlainText] = []
        self.keys: list[IdempotencyKey | None] = []
        self._settle = settle

    def as_job(self) -> WriteTexts:
        """Return the job that they form; requests that join later become a part of it."""
        return WriteTexts(self.address, self.peer.client, self.texts, self.keys, self._take, self.peer.end_draft)

    def add(self, request: Request, found: PlainAdd, key: IdempotencyKey | None) -> None:
        """Let a request join."""
        self.requests.append(request)
        self.texts.append((found.kind, found.content))
        self.keys.append(key)

    def calls(
        self, first: int, count: int, settle: "Callable[[Call, Outcome | DivergedError], None]"
    ) -> Iterator[Call]:
        """Return some of the requests as calls of their own, from the one with this index on."""
        for index in range(first, first + count):
            number, method, params, size = self.requests[index]
            call = Call(self.peer, settle, number, method, size)
            call.began, call.place, call.params, call.key = self.began, self.place + index, params, self.keys[index]
            yield call

    def _take(self, first: int, outcomes: Sequence[Outcome | DivergedError]) -> None:
        self._settle(self, first, outcomes)


def plain_add(params: Any) -> PlainAdd | None:
    """Return the parameters of an ``add`` of one plain text to a named agent; ``None`` for any other request."""
    key = None
    if type(params) is list and len(params) == 1:
        params = params[0]  # named parameters, from clients that can only send a list
    if type(params) is dict:
        address, messages = params.get("agent"), params.get("messages")
        create = params.get("create")
        more = len(params) - _LEAST
        if more:
            key = params.get("key")
            if more != ("create" in params) + ("key" in params) or not (key is None or _is_key(key)):
                return None
    elif type(params) is list and _LEAST <= len(params) <= _LEAST + 1:
        address, messages, create = params if len(params) > _LEAST else (*params, None)
    else:
        return None
    if type(address) is not str or (create is not None and type(create) is not bool):
        return None
    text = messages[0] if type(messages) is list and len(messages) == 1 else messages
    if type(text) is str:
        return _new(PlainAdd, (address, "user", text, messages, create, key)) if is_clean(text) else None
    if text is messages or type(text) is not dict or (found := plain_text(text)) is None:
        return None
    kind, content, _, _ = found.row
    return _new(PlainAdd, (address, kind, content, messages, create, key))


def _is_key(value: Any) -> bool:
    try:
        label(value)
    except InvalidParams:
        return False
    return True
