"""Tools that the provider runs itself: determines which of their calls and results can be sent (rule X9).

A server's tool leaves two opaque blocks, a call and its result, often in one assistant turn. They go back together or
not at all. A result may also come in a later turn: Anthropic pauses a turn in which a server's tool works for long, and
continues it after the results of the client's tools (rule A11). Its answers then begin with the result, or have calls
that the tool's program made. An answer that has neither went on without the tool, so its call is given up.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.providers.anthropic import declined_blocks
from reeld.formats.format import Format, ServerToolHalf
from reeld.formats.model import HistorySettings

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


class _Answer(NamedTuple):
    """Neighbouring messages of one answer, and the number of the first one in the batch."""

    start: int
    messages: list[Json]


class ServerToolStatus(NamedTuple):
    """The status of the server tools of a batch.

    Args:
        unpaired: the blocks whose other half is missing, so that they cannot be sent.
        first_pending: the number of the first group in which a tool still works; ``None`` if none does.
        continuing: the keys of the calls of earlier groups that still work, by the number of each group in which the
            assistant continues meanwhile.
        spans: for each call with its result in a later group, its key and the numbers of both groups.
        present: whether there are any, in the batch or still at work before it.
        declined: by the number of a message, how many of its blocks a model said that declined (rule A17).
    """

    unpaired: frozenset[BlockPlace]
    first_pending: int | None
    continuing: Mapping[int, Sequence[str]]
    spans: tuple[tuple[str, int, int], ...]
    present: bool
    declined: Mapping[int, int] = MappingProxyType({})

    def waiting_at(self, number: int) -> tuple[str, ...]:
        """Return the keys of the calls before a group whose results come in it or later."""
        return tuple(key for key, called, answered in self.spans if called < number <= answered)


_DEFAULTS = HistorySettings()
_NONE = ServerToolStatus(frozenset(), None, MappingProxyType({}), (), present=False)


def match_server_tools(
    groups: Sequence[MessageGroup],
    target: Format,
    model: str | None,
    waiting: Sequence[str] = (),
    pending: Sequence[str] = (),
    settings: HistorySettings = _DEFAULTS,
) -> ServerToolStatus:
    """Match the calls of a server's tools with their results.

    A call may wait for its result as long as only results of the assistant's other calls come between, each answer has
    to do with it, and no other provider has answered since; if the API wants both in one turn, only until that ends.
    The result of a call that is sent as text (rule X18) is the user's.

    Args:
        groups: the groups of the batch.
        target: the format.
        model: the model that will answer, if it is known.
        waiting: the keys of the server's calls before the batch whose results come in it.
        pending: the ids of the client's calls that the first group answers.
        settings: which tools' calls are sent as calls, and which features are declared.
    """
    matching = _Matching(waiting)
    declined: dict[int, int] = {}
    # The groups of calls that the newest group goes on without, as far as it is known.
    undecided: list[int] = []
    for number, group in enumerate(groups):
        undecided = []
        if matching.open and group.user:
            answered = pending if number == 0 else _calls(groups[number - 1], settings.tools)
            if _interrupts(group.user, answered):
                matching.give_up()
        if not matching.open and not _has_opaque(group.assistant):  # nearly always
            continue
        declined |= _declined(group)
        for answer in _answers(group, target.provider):
            halves = list(_halves(answer, target, model, settings.declared, declined))
            undecided += matching.give_up(_left_behind(matching.open, answer, halves, target))
            for place, half in halves:
                matching.add(place, half, number)
        if not target.server_tools_span:
            matching.give_up()
    if not matching.present:  # nearly always
        return _NONE._replace(declined=declined) if declined else _NONE
    first_pending = min([*undecided, *(number for _, number in matching.open.values())], default=None)
    working = [(key, called, len(groups) - 1) for key, (_, called) in matching.open.items()]
    continuing: dict[int, list[str]] = {}
    for key, called, last in (*matching.spans, *working):
        for between in range(called + 1, last + 1):
            continuing.setdefault(between, []).append(key)
    return ServerToolStatus(
        unpaired=frozenset(matching.unpaired),
        first_pending=first_pending,
        continuing=continuing,
        spans=tuple(matching.spans),
        present=True,
        declined=declined,
    )


class _Matching:
    """The calls of a server's tools and their results, as far as they were looked at.

    Args:
        waiting: the keys of the calls before them.
    """

    def __init__(self, waiting: Sequence[str]) -> None:
        self.unpaired: set[BlockPlace] = set()
        self.spans: list[tuple[str, int, int]] = []
        self.present = bool(waiting)
        # By key: the place of a call without a result and the number of its group.
        self.open: dict[str, tuple[BlockPlace, int]] = dict.fromkeys(waiting, (_BEFORE, -1))

    def give_up(self, keys: Sequence[str] | None = None) -> list[int]:
        """Abandon these open calls, by default all of them, and return the numbers of their groups."""
        given_up = [self.open.pop(key) for key in (list(self.open) if keys is None else keys)]
        self.unpaired.update(place for place, _ in given_up)
        return [number for _, number in given_up]

    def add(self, place: BlockPlace, half: ServerToolHalf | None, number: int) -> None:
        """Match the next half of a group; ``None`` is the place where another model took over."""
        if half is None:
            self.give_up()
            return
        self.present = True
        if half.is_call and half.key not in self.open:
            self.open[half.key] = (place, number)
        elif half.is_call or (found := self.open.pop(half.key, None)) is None:
            self.unpaired.add(place)
        elif found[1] < number:
            self.spans.append((half.key, found[1], number))


def _answers(group: MessageGroup, provider: str) -> Iterator[_Answer]:
    """Return the answers in a group: a message of another response, or of another provider, begins one."""
    start = group.start + len(group.user)
    messages: list[Json] = []
    response: str | None = None
    is_foreign = False
    for message in group.assistant:
        named = (message.get("provider_metadata") or {}).get("response_id")
        was_foreign, is_foreign = is_foreign, _is_of_another(message, provider)
        if messages and (was_foreign != is_foreign or (response and named and named != response)):
            yield _Answer(start, messages)
            start, messages = start + len(messages), []
        response = named or response
        messages.append(message)
    if messages:
        yield _Answer(start, messages)


def _left_behind(
    open_calls: Mapping[str, tuple[BlockPlace, int]],
    answer: _Answer,
    halves: Sequence[tuple[BlockPlace, ServerToolHalf | None]],
    target: Format,
) -> list[str]:
    """Return the keys of earlier calls that an answer has nothing to do with: no result, and no call they made."""
    before = [key for key, (place, _) in open_calls.items() if place[0] < answer.start]
    if not before:
        return []
    going_on = {half.key for _, half in halves if half is not None and not half.is_call}
    going_on |= {key for said in answer.messages for block in said["content"] if (key := target.made_by_tool(block))}
    return [key for key in before if key not in going_on]


def _halves(
    answer: _Answer, target: Format, model: str | None, declared: frozenset[str], declined: Mapping[int, int]
) -> Iterator[tuple[BlockPlace, ServerToolHalf | None]]:
    """Return the halves of server tool calls in an answer, with their places.

    ``None`` represents the place where another model took over (rule A17).
    """
    for message_index, message in enumerate(answer.messages, answer.start):
        for block_index, block in enumerate(message["content"]):
            if declined.get(message_index) == block_index:
                yield (message_index, block_index), None
            if block["type"] != "opaque" or target.why_undeclared(block, declared) is not None:
                continue
            if target.why_unsendable(block, "assistant", model) is None:
                half = target.server_tool_half(block)
                if half is not None:
                    yield (message_index, block_index), half


def _declined(group: MessageGroup) -> dict[int, int]:
    """Return how many blocks of each message come before the last takeover of a turn: of earlier messages, all."""
    counts = [declined_blocks(said["content"]) for said in group.assistant]
    last = max((index for index, count in enumerate(counts) if count is not None), default=0)
    counts[:last] = [len(said["content"]) for said in group.assistant[:last]]
    return {group.start + len(group.user) + index: count for index, count in enumerate(counts) if count is not None}


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


def _has_opaque(messages: Iterable[Json]) -> bool:
    """Whether any block is opaque. Every group is asked: two loops take a third of the time of a generator."""
    for message in messages:
        for block in message["content"]:
            if block["type"] == "opaque":
                return True
    return False


def _blocks(messages: Iterable[Json], kind: str) -> Iterator[Json]:
    return (block for message in messages for block in message["content"] if block["type"] == kind)
