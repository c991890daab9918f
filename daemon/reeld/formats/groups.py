"""Messages in groups: what is said to the assistant, then what it says; and what becomes of a server's tools."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reeld.formats.format import Dialect
from reeld.formats.model import Json


class Group(NamedTuple):
    """Neighbouring messages of the user and of tools, then neighbouring messages of the assistant."""

    heard: list[Json]
    spoken: list[Json]


class Served(NamedTuple):
    """What becomes of the opaque blocks of a server's tools.

    Args:
        lost: the blocks (by identity) whose other half is missing, so that they cannot be sent.
        waiting: the first group in which a server's tool is still at work; ``None`` where there is none.
        across: what is spoken (by identity) while a server's tool of an earlier group is at work.
    """

    lost: frozenset[int]
    waiting: int | None
    across: frozenset[int]


def groups_of(messages: Iterable[Json]) -> list[Group]:
    """Put messages into groups; only the first may lack what is heard, only the last what is spoken."""
    groups: list[Group] = []
    for message in messages:
        spoken = message["role"] == "assistant"
        if not groups or (groups[-1].spoken and not spoken):
            groups.append(Group([], []))
        (groups[-1].spoken if spoken else groups[-1].heard).append(message)
    return groups


def blocks_of(messages: Iterable[Json], kind: str) -> Iterator[Json]:
    """Give the blocks of one type."""
    for message in messages:
        for block in message["content"]:
            if block["type"] == kind:
                yield block


def served(groups: list[Group], dialect: Dialect, model: str | None) -> Served:
    """Match the calls of a server's tools with their results.

    A call may wait for its result as long as nothing but results of the assistant's other calls comes between.
    """
    lost: set[int] = set()
    across: set[int] = set()
    open_calls: dict[str, tuple[int, int]] = {}
    before: list[Json] = []
    for number, group in enumerate(groups):
        if group.heard and open_calls and _interrupts(group.heard, before):
            lost.update(block for block, _ in open_calls.values())
            open_calls = {}
        if open_calls:
            across.add(id(group.spoken))
        before = group.spoken
        for block in blocks_of(group.spoken, "opaque"):
            pair = dialect.pair(block) if dialect.refuses(block, "assistant", model) is None else None
            if pair is None:
                continue
            if not pair.is_call:
                if open_calls.pop(pair.key, None) is None:
                    lost.add(id(block))
            elif pair.key in open_calls:
                lost.add(id(block))
            else:
                open_calls[pair.key] = (id(block), number)
    waiting = min((number for _, number in open_calls.values()), default=None)
    return Served(frozenset(lost), waiting, frozenset(across))


def _interrupts(heard: list[Json], spoken: list[Json]) -> bool:
    """Tell whether something is more than the results of what was called before it."""
    calls = [block["id"] for block in blocks_of(spoken, "tool_call")]
    if not calls or any(message["role"] == "user" for message in heard):
        return True
    for block in blocks_of(heard, "tool_result"):
        if block["tool_call_id"] not in calls:
            return True
        calls.remove(block["tool_call_id"])
    return False
