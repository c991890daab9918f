"""What was imported from a source that identifies its messages by their position, to notice that it was edited since.

An id from a program stands for a message; a number stands for a place in a file, in which an editor may have put
something else. So what is read again at a known place is compared with what is in the log.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from reel.base.strict_json import encode
from reel.base.values import clean_deep
from reel.importing.adding.log import ref_for
from reel.importing.adding.markers import is_certain
from reel.importing.adding.masking import known_again
from reel.importing.steps import Part
from reel.importing.values import digest
from reel.said.blocks import InvalidRecord
from reel.said.records import read_row


class Stored:
    """The words of messages in a log, by their ids in the source, each as a digest."""

    def __init__(self) -> None:
        self._words: dict[str, str] = {}
        # What was redacted differs from its source, and should.
        self._is_redacted = False

    def note(self, events: Iterable[Any]) -> Iterator[Any]:
        """Yield the events of a log, and take note of their messages."""
        for event in events:
            texts = (event.get("content") or "", event.get("data_json") or "")
            self._is_redacted = self._is_redacted or event["kind"] == "redacted" or any(map(is_certain, texts))
            if ref := event.get("ref"):
                self._note(ref, event)
            yield event

    def _note(self, ref: str, event: Any) -> None:
        if event["kind"] == "system":
            self._words[ref] = _words([{"type": "text", "text": event["content"] or ""}])
            return
        try:
            parts = read_row(event["kind"], event["content"], event["data_json"])
        except InvalidRecord:  # nothing is known of what is damaged
            return
        if parts is not None:
            self._words[ref] = _words(parts.content)

    def differs(self, parts: tuple[Part, ...]) -> bool:
        """Return whether a message of the source says something else than the one in the log under its id."""
        known = self._words.get(ref_for(parts[-1].ref))
        if known is None or self._is_redacted:
            return False
        # A message that grew is in the log in several, each under the id of its last part.
        said = ([block for part in parts[first:] for block in part.blocks] for first in range(len(parts)))
        return known not in map(_words, said)


def _words(blocks: Iterable[Any]) -> str:
    """Return a digest of what blocks say: their texts, calls and results.

    Pictures, files and blocks of a provider's own are left out: a later version may read more of them. So is what was
    done with secrets.
    """
    keys = ("text", "name", "arguments", "content")
    said = [block[key] for block in known_again(list(blocks)) for key in keys if _is_said(block, key)]
    return digest(encode(clean_deep(said)[0]))


def _is_said(block: Any, key: str) -> bool:
    return block["type"] in ("text", "tool_call", "tool_result") and type(block.get(key)) is str
