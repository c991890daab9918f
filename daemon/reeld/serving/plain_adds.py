"""The fast path for requests that add one plain text, as nearly all do.

The signature of ``add`` and its handler read the same requests with the same result, at three times the cost; requests
of any other form, valid or not, are left to them.

Consecutive requests of one connection for the same agent become one job, and get their replies together. So the fixed
cost of a request is paid once for all of them.
"""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any, TypeAlias

from reel.errors import InvalidParams
from reel.frames import Id
from reel.values import is_clean
from reeld.agents.agent import Agent
from reeld.agents.jobs import WriteTexts
from reeld.core.validation import plain_text
from reeld.protocol.converters import label
from reeld.serving.call import Call, Outcome, Peer
from reeld.store.transactions import DivergedError

# The required fields of a request, and the optional ones.
_LEAST = 2
# The parameters of an `add` of one plain text: the agent's address, the kind of the row, the text, the parameters
# `messages` and `create`, and the idempotency key.
PlainAdd: TypeAlias = tuple[str, str, str, Any, bool | None, str | None]


class TextCalls(WriteTexts):
    """Consecutive requests of one connection that each add a plain text to one agent.

    Args:
        peer: who asks.
        address: how the agent is named.
        agent: the agent.
        place: the place of the first one in the order of arrival.
        settle: takes the outcomes of some of the requests, from the one with this index on.
    """

    __slots__ = ("agent", "began", "numbers", "params", "peer", "place", "sizes")

    def __init__(
        self,
        peer: Peer,
        address: str,
        agent: Agent,
        place: int,
        settle: "Callable[[TextCalls, int, Sequence[Outcome | DivergedError]], None]",
    ) -> None:
        super().__init__(address, peer.client, settle, peer.end_draft)
        self.peer = peer
        self.agent = agent
        self.place = place
        # When the first one was read, on the monotonic clock.
        self.began = monotonic()
        # The id, the size and the parameters of each request.
        self.numbers: list[Id] = []
        self.sizes: list[int] = []
        self.params: list[Any] = []

    def calls(
        self, first: int, count: int, settle: "Callable[[Call, Outcome | DivergedError], None]"
    ) -> Iterator[Call]:
        """Return some of the requests as calls of their own, from the one with this index on."""
        for index in range(first, first + count):
            call = Call(self.peer, settle, self.numbers[index], "add", self.sizes[index])
            call.began, call.place, call.params = self.began, self.place + index, self.params[index]
            call.key = self.keys[index]
            yield call


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
        return (address, "user", text, messages, create, key) if is_clean(text) else None
    if text is messages or type(text) is not dict or (found := plain_text(text)) is None:
        return None
    kind, content, _, _ = found.row
    assert content is not None, "a plain text has one"  # noqa: S101 - its type is that of any row
    return address, kind, content, messages, create, key


def _is_key(value: Any) -> bool:
    try:
        label(value)
    except InvalidParams:
        return False
    return True
