"""Tools that the provider runs itself: determines which of their calls and results can be sent (rule X9).

A server's tool leaves two opaque blocks, a call and its result, often in one assistant turn. They go back together or
not at all. A result may also come in a later turn: Anthropic pauses a turn in which a server's tool works for long, and
continues it after the results of the client's tools (rule A11).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from reel.base.strict_json import Json
from reel.providers.anthropic import declined_blocks
from reeld.formats.format import Format, ServerToolHalf

# A block by its place: the number of its message in the batch that is repaired, and its number in that message.
BlockPlace: TypeAlias = tuple[int, int]


# The place of a call before the batch.
_BEFORE = (-1, -1)


class MessageGroup(NamedTuple):
    """Neighbouring messages of the user and of tools, then neighbouring messages of the assistant.

    Args:
        start: the number of its first message in the batch.
        user: the messages of the user and of tools.
        assistant: the messages of the assistant.
    """

    start: int
    user: list[Json]
    assistant: list[Json]


class ServerToolStatus(NamedTuple):
    """The status of the server tools of a batch.

    Args:
        unpaired: the blocks whose other half is missing, so that they cannot be sent.
        first_pending: the number of the first group in which a tool still works; ``None`` if none does.
        continuing: the numbers of the groups in which the assistant continues while a tool of an earlier group works.
        spans: for each call with its result in a later group, its key and the numbers of both groups.
        present: whether there are any, in the batch or still at work before it.
        declined: by the number of a message, how many of its blocks a model said that declined (rule A17).
    """

    unpaired: frozenset[BlockPlace]
    first_pending: int | None
    continuing: frozenset[int]
    spans: tuple[tuple[str, int, int], ...]
    present: bool
    declined: Mapping[int, int] = MappingProxyType({})

    def waiting_at(self, number: int) -> tuple[str, ...]:
        """Return the keys of the calls before a group whose results come in it or later."""
        return tuple(key for key, called, answered in self.spans if called < number <= answered)


def match_server_tools(
    groups: Sequence[MessageGroup],
    target: Format,
    model: str | None,
    waiting: Sequence[str] = (),
    pending: Sequence[str] = (),
    tools: frozenset[str] | None = None,
) -> ServerToolStatus:
    """Match the calls of a server's tools with their results.

    A call may wait for its result as long as only results of the assistant's other calls come between, and no other
    provider has answered since; if the API wants both in one turn, only until that ends. The result of a call that is
    sent as text (rule X18) is the user's.

    Args:
        groups: the groups of the batch.
        target: the format.
        model: the model that will answer, if it is known.
        waiting: the keys of the server's calls before the batch whose results come in it.
        pending: the ids of the client's calls that the first group answers.
        tools: the names of the tools whose calls are sent as calls; ``None`` for all tools.
    """
    unpaired: set[BlockPlace] = set()
    continuing: set[int] = set()
    declined: dict[int, int] = {}
    spans: list[tuple[str, int, int]] = []
    # By key: the place of the call and the number of its group.
    open_calls: dict[str, tuple[BlockPlace, int]] = dict.fromkeys(waiting, (_BEFORE, -1))
    present = bool(waiting)
    for number, group in enumerate(groups):
        if open_calls and group.user:
            answered = pending if number == 0 else _calls(groups[number - 1], tools)
            if _interrupts(group.user, answered):
                unpaired.update(place for place, _ in open_calls.values())
                open_calls = {}
        if open_calls:
            continuing.add(number)
        elif next(_blocks(group.assistant, "opaque"), None) is None:
            continue
        declined |= _declined(group)
        for place, half in _halves(group, target, model, declined):
            present = present or half is not None
            if half is None:
                unpaired.update(place for place, _ in open_calls.values())
                open_calls = {}
            elif half.is_call and half.key not in open_calls:
                open_calls[half.key] = (place, number)
            elif half.is_call or (found := open_calls.pop(half.key, None)) is None:
                unpaired.add(place)
            elif found[1] < number:
                spans.append((half.key, found[1], number))
        if not target.server_tools_span:
            unpaired.update(place for place, _ in open_calls.values())
            open_calls = {}
    first_pending = min((number for _, number in open_calls.values()), default=None)
    return ServerToolStatus(frozenset(unpaired), first_pending, frozenset(continuing), tuple(spans), present, declined)


def _halves(
    group: MessageGroup, target: Format, model: str | None, declined: Mapping[int, int]
) -> Iterator[tuple[BlockPlace, ServerToolHalf | None]]:
    """Return the halves of server tool calls in the assistant's messages, with their places.

    ``None`` represents an answer of another provider, which cannot have continued a turn (rule A11), and the place
    where another model took over (rule A17).
    """
    for message_index, message in enumerate(group.assistant, group.start + len(group.user)):
        if _is_of_another(message, target.provider):
            yield (message_index, 0), None
        for block_index, block in enumerate(message["content"]):
            if declined.get(message_index) == block_index:
                yield (message_index, block_index), None
            if block["type"] == "opaque" and target.why_unsendable(block, "assistant", model) is None:
                half = target.server_tool_half(block)
                if half is not None:
                    yield (message_index, block_index), half


def _declined(group: MessageGroup) -> dict[int, int]:
    """Return how many blocks of each message come before the last takeover of a turn: of earlier messages, all."""
    counts = [declined_blocks(said["content"]) for said in group.assistant]
    last = max((index for index, count in enumerate(counts) if count), default=0)
    counts[:last] = [len(said["content"]) for said in group.assistant[:last]]
    return {group.start + len(group.user) + index: count for index, count in enumerate(counts) if count}


def _is_of_another(message: Json, provider: str) -> bool:
    """Whether a message is known to come from another provider."""
    blocks = message["content"]
    holders = [message.get("provider_metadata"), *(block.get("provider_metadata") for block in blocks), *blocks]
    makers = [holder["provider"] for holder in holders if holder and holder.get("provider")]
    return bool(makers) and provider not in makers


def _interrupts(user: list[Json], pending: Sequence[str]) -> bool:
    """Whether messages contain more than the results of the calls before them."""
    calls = list(pending)
    if not calls or any(message["role"] == "user" for message in user):
        return True
    for block in _blocks(user, "tool_result"):
        if block["tool_call_id"] not in calls:
            return True
        calls.remove(block["tool_call_id"])
    return False


def _calls(group: MessageGroup, tools: frozenset[str] | None) -> list[str]:
    """Return the ids of the client's calls that are sent as calls."""
    calls = _blocks(group.assistant, "tool_call")
    return [call["id"] for call in calls if tools is None or call["name"] in tools]


def _blocks(messages: Iterable[Json], kind: str) -> Iterator[Json]:
    return (block for message in messages for block in message["content"] if block["type"] == kind)
