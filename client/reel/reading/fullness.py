"""How full the context of a model is with a conversation.

The provider's own count is exact: what it read for its last answer, and what it wrote, is what it reads the next time.
Only what came after that answer is estimated, or everything if no provider has counted yet, and then it says so. A
framework stores the count with the answer; that of an answer which is stored again, behind another beginning, is of no
use.
"""

from __future__ import annotations

import json
from contextlib import suppress

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.attribution import answer_in
from reel.reading.contexts import context_of
from reel.reading.tokens import Tokens, tokens_in
from reel.reading.wording import flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reel.said.messages import Event, Message

# How many of the newest messages are estimated; a longer conversation has at least as many tokens.
MOST = 1000
# A key of what counts an answer that is no part of the conversation, such as a summary.
ASIDE = "aside"
# How many of the newest counts are looked at: anybody may add one that counts nothing.
COUNTS = 10
# As a budget estimates a text (docs/protocol.md, "Providers").
_BYTES_PER_TOKEN = 4
# What a picture of the usual size takes at most, at the larger providers.
_MEDIA = 1500
# What marks a message and its parts.
_OVERHEAD = 4


class Counted(NamedTuple):
    """What a provider counted for an answer.

    Args:
        seq: the seq of the count.
        tokens: the tokens of the context then.
        model: the model, if that is known.
        command: if an answer has the count itself, and came with other events, the seq of the first of them; else 0.
    """

    seq: int = 0
    tokens: int = 0
    model: str | None = None
    command: int = 0

    def unless_again(self, first: Iterable[Event]) -> Counted:
        """Return the count, or none if it is of an answer that was stored again with the messages that replaced others.

        Args:
            first: the first event that came with the answer.
        """
        return Counted() if any(event["kind"] == "rewind" for event in first) else self


class Fullness(NamedTuple):
    """How many tokens a conversation takes.

    Args:
        counted: those that the provider counted.
        estimated: those of what it has not counted.
        model: who read them, or is asked next, if that is known.
        size: how many its context holds, if that is known.
        is_least: whether there are more, which were not looked at.
    """

    counted: int
    estimated: int
    model: str | None = None
    size: int | None = None
    is_least: bool = False

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.counted + self.estimated

    @property
    def share(self) -> str | None:
        """The part of the context that they take, in words; ``None`` if its size is not known."""
        if self.size is None:
            return None
        percent = round(100 * self.tokens / self.size)
        return f"{percent} %" if percent else "under 1 %"

    @property
    def short(self) -> str:
        """The same in a few words."""
        if self.size is not None and self.tokens < self.size / 200:
            return f"context {self.share}"
        return f"context {self._about}{self.share or f'{self.tokens:,} tokens'}"

    def __str__(self) -> str:
        words = f"{self._about}{self.tokens:,} tokens"
        if self.estimated:
            words += f", {self.estimated:,} of them estimated" if self.counted else ", estimated"
        if self.size is not None:
            return f"{words}, {self.share} of {self.size:,} ({flat(self.model or '')})"
        return words if self.model is None else f"{words}, of an unknown context ({flat(self.model)})"

    @property
    def _about(self) -> str:
        return "at least " if self.is_least else "about " if self.estimated else ""


def counted_in(events: Iterable[Event]) -> Counted:
    """Return what was counted last; nothing if nothing was.

    Args:
        events: ``usage`` events, and answers that may have their tokens.
    """
    found = Counted()
    for event in events:
        if event["kind"] == "usage":
            found = _counted(event) or found
        elif (answer := answer_in(event)) is not None:
            command = event["command"] if event["command"] < event["seq"] else 0
            found = Counted(event["seq"], _left(answer.tokens), answer.model or None, command)
    return found


def _counted(event: Event) -> Counted | None:
    with suppress(ValueError, RecursionError):  # anybody may add such an event
        data = json.loads(event["data_json"] or "{}")
        if (tokens := tokens_in(data)) and ASIDE not in data:
            return Counted(event["seq"], _left(tokens), _model(data))
    return None


def _left(tokens: Tokens) -> int:
    """Return how many tokens of an answer and what it answered the next request has."""
    return tokens.read + tokens.written


def _model(data: Mapping[str, Any]) -> str | None:
    model = data.get("model")
    return model if isinstance(model, str) and model else None


def fullness(
    counted: Counted,
    later: Iterable[Message],
    system: str | None,
    own: Mapping[str, int],
    model: str | None = None,
    *,
    is_least: bool = False,
) -> Fullness:
    """Return how full a context is.

    Args:
        counted: what the provider counted last.
        later: the messages after it, the newest :data:`MOST` at most.
        system: the system prompt.
        own: the sizes of contexts that a person gave.
        model: who is asked next. Default: who answered last.
        is_least: whether there are more messages than these.
    """
    estimates = list(map(estimate, later))
    estimated = sum(estimates) + (_size(system) if system and not counted.seq else 0)
    asked = model or counted.model
    size = None if asked is None else context_of(asked, own)
    return Fullness(counted.tokens, estimated, asked, size, is_least=is_least or len(estimates) >= MOST)


def estimate(message: Message) -> int:
    """Return about how many tokens a message has."""
    return _OVERHEAD + sum(_of_block(block) for block in message["content"])


def _of_block(block: Mapping[str, Any]) -> int:
    kind = block["type"]
    if kind == "media":
        return _MEDIA
    if kind == "tool_result":
        content = block["content"]
        return _size(content) if isinstance(content, str) else sum(map(_of_block, content))
    told = ("text", "name", "arguments", "data", "data_json")
    return sum(_size(value) for name in told if isinstance(value := block.get(name), str))


def _size(text: str) -> int:
    return -(-len(text.encode(errors="surrogatepass")) // _BYTES_PER_TOKEN)
