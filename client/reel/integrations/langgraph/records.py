"""The saver's own records in the log of a thread: their content, and how to recognize them.

Any client may add a record under the same key. Records of a different shape, or redacted ones, are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from reel.integrations.langgraph.values import to_json
from reel.said.item_forms import COPIES_OF

if TYPE_CHECKING:
    from reel.reading.log_tree import Place

# The kind of the records: for programs, hidden from people and searches.
KIND = "command"
KEY = "langgraph"
# The channel of the input.
INPUT = "__start__"
# The channels of the framework itself: the input, and what is sent to tasks. They have a value for one step only.
OF_THE_FRAMEWORK = frozenset({INPUT, "__pregel_tasks"})
# How the text of a list begins, and how it ends, with the list that has its encoding.
_LIST = '["msgpack",['
_END = "]]"
# The text of a value that is not there.
_NOTHING = '["null"]'
# The name under which a saver writes.
CLIENT = "langgraph"
# The namespace of a checkpoint, and its id.
FullId: TypeAlias = tuple[str, str]


class Checkpoint:
    """A checkpoint, as it is stored.

    Args:
        seq: the seq of its record.
        data: the content of the record.
        tip: the newest node of the conversation at that moment.
    """

    __slots__ = ("data", "id", "metadata", "parent", "seq", "space", "tip", "versions")

    def __init__(self, seq: int, data: Mapping[str, Any], tip: Place | None) -> None:
        self.seq = seq
        self.data = data
        self.id: str = data["put"]
        self.space: str = data["ns"]
        self.parent: str | None = data["parent"]
        self.tip = tip
        # The parts of it that a saver has read.
        self.versions: Mapping[str, Any] | None = None
        self.metadata: Mapping[str, Any] | None = None

    @property
    def full_id(self) -> FullId:
        """Its namespace and its id."""
        return self.space, self.id

    def stored(self) -> list[str]:
        """Return the channels whose values its record has, or its parts."""
        return [*self.data["values"], *self.data.get("parts", ())]

    def is_input(self) -> bool:
        """Whether it holds the input of a turn, of which nothing has run yet."""
        return INPUT in self.data["values"] or INPUT in self.data.get("parts", ())


class Write:
    """A value that a task wrote to a channel.

    Args:
        task: the id of the task.
        path: the path of the task.
        index: the number of the write, negative for those of a special channel.
        channel: the channel.
        value: the value, as text.
    """

    __slots__ = ("channel", "index", "path", "task", "value")

    def __init__(self, task: str, path: str, index: int, channel: str, value: str) -> None:
        self.task = task
        self.path = path
        self.index = index
        self.channel = channel
        self.value = value


def record(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with data about a thread."""
    return {"kind": KIND, "data_json": to_json({KEY: data})}


def texts_in(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the serialized values in a record of a checkpoint, or of the writes of a task."""
    yield from data.get("values", {}).values()
    yield from (rest for _, rest in data.get("more", {}).values())
    yield from (value for _, _, value in data.get("writes", ()))
    yield data.get("messages", {}).get("more", "")


def copies_of(data: Mapping[str, Any], text: str) -> Any:
    """Return of which messages a text in a record has the content, as the record says; empty if it says nothing."""
    said = data.get(COPIES_OF, [])
    if type(said) is list:
        return said
    return next((each for channel, each in said["values"].items() if data["values"].get(channel) is text), [])


def shell(data: Mapping[str, Any], channels: Collection[str]) -> dict[str, Any]:
    """Return what is left of the record of a checkpoint that is hidden, with the values that others need.

    Args:
        data: its content.
        channels: the channels of these values.
    """
    made = {name: data[name] for name in ("put", "ns", "parent", "thread", COPIES_OF) if name in data}
    made["checkpoint"] = made["metadata"] = _NOTHING
    for name in ("values", "same", "more", "parts"):
        left = {channel: value for channel, value in data.get(name, {}).items() if channel in channels}
        if left or name in ("values", "same"):
            made[name] = left
    if INPUT in data["values"] or INPUT in data.get("parts", ()):
        made["values"].setdefault(INPUT, "")
    return made


def data_in(text: str | None) -> dict[str, Any] | None:
    """Return the content of a record; ``None`` if another client wrote it.

    Args:
        text: the record's ``data_json``.
    """
    if text is None or not text.startswith(f'{{"{KEY}"'):
        return None
    try:
        found = json.loads(text)[KEY]
    except (ValueError, KeyError, RecursionError):
        return None
    return found if type(found) is dict else None


def is_value(text: Any) -> bool:
    """Whether a text is a serialized value, rather than a redacted one."""
    return type(text) is str and text.startswith('["')


def growth(before: str, value: str) -> str | None:
    """Return what a list has in addition to an earlier one, as the end of its text; ``None`` if it is no such list.

    Both are serialized values, and so are lists of an encoding and a content. The text of the earlier one, up to the
    brackets at its end, and that end are the text of the later one.
    """
    shared = len(before) - len(_END)
    if not (before.startswith(_LIST) and before.endswith(_END) and value.startswith(before[:shared])):
        return None
    rest = value[shared:]
    return rest if rest[:1] in (",", "]") and len(rest) < shared else None


def grown_by(text: str, rests: Sequence[str]) -> str:
    """Return the text of a list, given an earlier one and what was added to it since, in order."""
    *before, last = rests
    return "".join([text[: -len(_END)], *(rest[: -len(_END)] for rest in before), last])


def is_checkpoint(data: Mapping[str, Any]) -> bool:
    """Whether a record is a checkpoint."""
    match data:
        case {"put": str(), "ns": str(space), "metadata": str(), "checkpoint": text, "parent": str() | None}:
            values, same = data.get("values"), data.get("same")
            return (
                is_value(text)
                and type(values) is type(same) is dict
                and _are(str, values.values())
                and _are(int, same.values())
                and _is_growth(data.get("more", {}))
                and _are_parts(data.get("parts", {}))
                and ("messages" not in data or _is_conversation(data["messages"], is_nested=space != ""))
            )
    return False


def is_part(data: Mapping[str, Any]) -> bool:
    """Whether a record is a part of a text."""
    return type(data.get("part")) is str


def _are_parts(found: Any) -> bool:
    return type(found) is dict and all(type(seqs) is list and _are(int, seqs) for seqs in found.values())


def _is_growth(found: Any) -> bool:
    return type(found) is dict and all(_is_row(row, int, str) and row[1].endswith(_END) for row in found.values())


def _is_conversation(found: Any, *, is_nested: bool) -> bool:
    if type(found) is not dict:
        return False
    skip, keep = found.get("skip", []), found.get("keep") if is_nested else 0
    return (
        type(skip) is list
        and _are(int, skip)
        and type(keep) is int
        and keep >= 0
        and type(found.get("more", "")) is str
        and _are_parts({"": found.get("parts", [])})
    )


def are_writes(data: Mapping[str, Any]) -> bool:
    """Whether a record holds the writes of a task after a checkpoint."""
    match data:
        case {"to": str(), "ns": str(), "task": str(), "path": str(), "writes": list(rows)}:
            is_own = "put" not in data and _are_parts(data.get("parts", {}))
            return is_own and all(_is_row(row, int, str, str) for row in rows)
    return False


def are_hidden(data: Mapping[str, Any]) -> bool:
    """Whether a record names checkpoints that are hidden."""
    return type(data.get("delete")) is list and all(_is_row(row, str, str) for row in data["delete"])


def _is_row(row: Any, *kinds: type) -> bool:
    return type(row) is list and [*map(type, row)] == [*kinds]


def _are(kind: type, found: Iterable[Any]) -> bool:
    return {*map(type, found)} <= {kind}
