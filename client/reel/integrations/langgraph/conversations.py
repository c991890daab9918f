"""The messages of a thread: those of a checkpoint, and how the conversation differs from a graph's messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from reel.base.light_typing import NamedTuple
from reel.integrations.langgraph import messages, values
from reel.integrations.langgraph.records import Checkpoint
from reel.integrations.langgraph.thread import Node, Thread
from reel.sync.client import Client

if TYPE_CHECKING:
    from reel.reading.log_tree import Place


class Difference(NamedTuple):
    """How a conversation differs from a list of messages.

    Args:
        begin: the first message that differs from the list; ``None`` if none does.
        same: how many messages of the list are in the conversation.
        skipped: messages of the conversation that are kept, but not in the list.
        later: messages after ``begin`` that the framework has not seen.
    """

    begin: Node | None
    same: int
    skipped: Sequence[Node] = ()
    later: Sequence[Node] = ()


class Conversations:
    """The conversations of threads, as messages of the framework.

    Args:
        client: reads parts of logs that were not read before.
        serde: the serializer.
    """

    def __init__(self, client: Client, serde: SerializerProtocol) -> None:
        self._client = client
        self._serde = serde

    def is_one(self, value: Any) -> bool:
        """Whether the value of a channel is stored as a conversation."""
        return isinstance(self._serde, JsonPlusSerializer) and messages.is_history(value)

    def _kept(self, thread: Thread, node: Node) -> Sequence[messages.Kept]:
        """Convert a message of the log to messages of the framework: none, one or several."""
        if node.kept is None:
            own = messages.restored_from_record(self._serde, node.record)
            node.kept = self._read_message(thread, node.message()) if own is None else [own]
            thread.copied.learn(node.seq, (each.id for each in node.kept))
        return node.kept

    def _read_message(self, thread: Thread, message: Any) -> list[messages.Kept]:
        if message is None:
            return []
        own = messages.restored(self._serde, message)
        return messages.converted(self._serde, message, thread.agent or "") if own is None else [own]

    def current(self, thread: Thread) -> list[Node]:
        """Return the messages that a thread has now."""
        return self._path(thread, thread.tip, thread.head)

    def unseen(self, thread: Thread) -> list[Node]:
        """Return the messages that a thread has now, and that the framework has not received yet."""
        return [node for node in self.current(thread) if thread.is_unseen(node)]

    def _path(self, thread: Thread, tip: Place | None, at: int) -> list[Node]:
        """Return the messages of a conversation, from the log that was read, or else from the daemon."""
        found = thread.path() if tip == thread.tip else thread.path_to(tip)
        if found is not None:
            return found
        nodes = []
        for message in self._client.iter_messages(thread.name, at=at):
            nodes.append(Node(("", message["seq"]), 0, message))
            nodes[-1].kept = self._read_message(thread, message)
        return nodes

    def of(self, thread: Thread, space: str, checkpoint: Checkpoint, *, is_live: bool) -> Any:
        """Return the messages of a checkpoint; for the last one, include messages that others added since."""
        found = checkpoint.data.get("messages", {})
        is_newest = is_live and not space and thread.current.newest.get(space) is checkpoint
        if is_newest or checkpoint is thread.outset:
            path = self._in_turn(thread, self.current(thread))
            thread.given.update(node.place for node in path if thread.is_foreign(node))
        else:
            skipped = frozenset(found.get("skip", ()))
            path = self._path(thread, checkpoint.tip, checkpoint.seq)
            path = [node for node in path if node.seq not in skipped] if skipped else path
        kept = [each for node in path for each in self._kept(thread, node)]
        if space:
            more = found.get("more", "[]") if "parts" not in found else thread.values.joined(found["parts"])
            kept = kept[: found["keep"]] + self._items(more)
        return [each.copy() for each in kept]

    def _items(self, text: str) -> list[messages.Kept]:
        """Return stored messages, without those that were redacted."""
        kept = []
        with suppress(ValueError, RecursionError):
            items = json.loads(text)
            for item in items if type(items) is list else ():
                with suppress(values.NotAValue):
                    kept.append(messages.kept_from(self._serde, item))
        return kept

    def _in_turn(self, thread: Thread, path: list[Node]) -> list[Node]:
        """Return a conversation without foreign messages between a call of the graph and its result.

        Providers refuse these. Such a message is moved after the result, and left out until the result exists.
        """
        if not any(map(thread.is_foreign, path)):
            return path
        ordered: list[Node] = []
        waiting: list[Node] = []
        calls: set[str] = set()
        for node in path:
            made = self._kept(thread, node)
            results = {found for each in made if (found := each.result()) is not None}
            is_foreign = thread.is_foreign(node)
            if calls and is_foreign and not results:
                waiting.append(node)
                continue
            if not results:
                ordered += waiting
                calls, waiting = set(), []
            ordered.append(node)
            calls -= results
            if not is_foreign:
                calls |= {found for each in made for found in each.calls()}
            if not calls:
                ordered += waiting
                waiting = []
        return ordered

    def difference(self, thread: Thread, given: Sequence[Any]) -> Difference:
        """Compare the conversation with a list of messages.

        A foreign message that the framework has not seen yet is kept: the next load of the thread includes it.
        """
        skipped: list[Node] = []
        same = 0
        path = self.current(thread)
        for number, node in enumerate(path):
            kept = self._kept(thread, node)
            end = same + len(kept)
            if kept and end <= len(given) and all(map(messages.Kept.is_like, kept, given[same:end])):
                same = end
            elif not kept or thread.is_unseen(node):
                skipped.append(node)
            else:
                return Difference(node, same, skipped, [*filter(thread.is_unseen, path[number:])])
        return Difference(None, same, skipped)

    def nested(self, thread: Thread, given: Sequence[Any]) -> dict[str, Any]:
        """Return the messages of a subgraph: the number that equals the conversation, and the others."""
        path = self.current(thread)
        kept = [each for node in path for each in self._kept(thread, node)]
        same = 0
        for each, message in zip(kept, given, strict=False):
            if not each.is_like(message):
                break
            same += 1
        more = [messages.item_of(self._serde, message) for message in given[same:]]
        return {"keep": same, **({"more": values.to_json(more)} if more else {})}
