"""Which messages of a conversation a record has again, such as the input of a subgraph: found by their ids.

The daemon redacts such records with the message (docs/protocol.md, "Erase"). A message that a record has for the first
time is stored later; it names the record itself (:func:`reel.integrations.langgraph.messages.with_copies`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from reel.integrations.langgraph.records import INPUT, OF_THE_FRAMEWORK, texts_in
from reel.integrations.langgraph.values import to_json
from reel.said.item_forms import COPIES_OF

# An id in a serialized value, as JSON. A value may have others than those of messages.
_ID: Final = re.compile(r'"id":("(?:[^"\\]|\\.)+")')


class Copied:
    """The messages of a thread by their ids."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._seqs: list[int] = []
        self._by_id: dict[str, list[int]] = {}

    def note(self, seq: int) -> None:
        """Note the next message of the log."""
        self._numbers[seq] = len(self._seqs)
        self._seqs.append(seq)

    def learn(self, seq: int, ids: Iterable[str]) -> None:
        """Learn which ids a message has in the framework."""
        number = self._numbers.get(seq)
        if number is None:  # it is in a log that was not read
            return
        for each in ids:
            known = self._by_id.setdefault(to_json(each), [])
            if number not in known:
                known.append(number)

    def said_of(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a record says of the messages whose content it has again; empty if it has none.

        A checkpoint of the graph itself says it of the input and of what the framework sends to tasks: without the
        values of its own channels, the graph could not go on. What is left there, a redaction of the text removes.

        Args:
            data: the content of the record: of a checkpoint, or of the writes of a task.
        """
        if data.get("ns") or "put" not in data or INPUT in data["values"]:
            found = self._stretches_in(texts_in(data))
            return {COPIES_OF: found} if found else {}
        sent = {
            channel: there
            for channel, text in data["values"].items()
            if channel in OF_THE_FRAMEWORK and (there := self._stretches_in([text]))
        }
        return {COPIES_OF: {"values": sent}} if sent else {}

    def sent_in(self, data: Mapping[str, Any]) -> dict[str, set[str]]:
        """Return the ids in what a checkpoint of the graph itself sends to tasks, by channels.

        Some of them may be those of messages that are stored together with the checkpoint (:func:`with_new`).
        """
        if data["ns"] or INPUT in data["values"]:
            return {}
        return {
            channel: {json.loads(each) for each in _ID.findall(text)}
            for channel, text in data["values"].items()
            if channel in OF_THE_FRAMEWORK
        }

    def _stretches_in(self, texts: Iterable[str]) -> list[list[int]]:
        """Return the messages that serialized values have: the first and the last seq of each stretch of them."""
        ids = {each for text in texts for each in _ID.findall(text)}
        found = sorted({number for each in ids for number in self._by_id.get(each, ())})
        made: list[list[int]] = []
        for number, before in zip(found, [-1, *found], strict=False):
            seq = self._seqs[number]
            if made and before == number - 1:
                made[-1][1] = seq
            else:
                made.append([seq, seq])
        return made


def with_new(data: Mapping[str, Any], sent: Mapping[str, Iterable[str]], seqs: Mapping[str, int]) -> Mapping[str, Any]:
    """Return a checkpoint that says as well which messages of its own command it sends to tasks.

    Args:
        data: the content of its record.
        sent: the ids in what it sends, by channels.
        seqs: the seqs that new messages get, by their ids.
    """
    found = {channel: sorted(seqs[each] for each in ids if each in seqs) for channel, ids in sent.items()}
    if not any(found.values()):
        return data
    known = data.get(COPIES_OF, {"values": {}})["values"]
    there = {channel: [*known.get(channel, ()), *([seq, seq] for seq in new)] for channel, new in found.items() if new}
    return {**data, COPIES_OF: {"values": {**known, **there}}}
