"""What the index has of an event: its words, and what it may have done.

Its texts are those of :mod:`reeld.search.texts`, as words of :mod:`reeld.search.words`. To these come generated words
for its kind and its agent, so that FTS5 itself can restrict a search to them, and for names that are no words.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

from reeld.search import touched, vocabulary
from reeld.search.names import LACKED, are_lacked
from reeld.search.texts import blocks_of, text_of
from reeld.search.touched import Message
from reeld.search.volumes import Document
from reeld.search.words import Indexed, indexed

# An event: its id, its agent, its kind, its content, its data, and when it was said.
Row: TypeAlias = tuple[int, int, str, str | None, str | None, int]

# The kinds of events that have text. Their places are stored: an insertion needs a new version.
KINDS = ("user", "assistant", "tool_call", "tool_result", "tool", "system", "note", "created", "changed")
_SPEAKERS = ("user", "assistant")


def message_of(
    event: int, agent: int, kind: str, content: str | None, data_json: str | None, said: int
) -> Message | None:
    """Return a message that may have calls or results; ``None`` for any other event."""
    if not touched.may_touch(kind, data_json):
        return None
    blocks = blocks_of(kind, content, data_json)
    return None if blocks is None else Message(event, agent, said, blocks)


def documents_of(rows: Sequence[Row], blocks: Sequence[Sequence[Any] | None] | None = None) -> list[Document]:
    """Return the index entries of events, without those that have no text.

    Args:
        rows: the events; see :mod:`reel.base.batches` for how many.
        blocks: the blocks of each, if they have been read.
    """
    known = blocks or [None] * len(rows)
    texts = [text_of(*row[2:5], blocks=its) if row[2] in KINDS else "" for row, its in zip(rows, known, strict=True)]
    spoken = [(row, text) for row, text in zip(rows, texts, strict=True) if text]
    prepared = [indexed(text) for _, text in spoken]
    lengths = [vocabulary.length(each.words) for each in prepared]
    return [
        _document(row, text, *more)
        for (row, text), more in zip(spoken, zip(prepared, lengths, strict=True), strict=True)
    ]


def _document(row: Row, text: str, prepared: Indexed, length: int) -> Document:
    event, agent, kind, _, data_json, said = row
    about = f"{kind_word(kind)} {agent_word(agent)}" + (f" {LACKED}" if are_lacked(text, prepared) else "")
    return Document(event, *prepared, about, agent, KINDS.index(kind), length, said, _is_talk(kind, data_json))


def _is_talk(kind: str, data_json: str | None) -> bool:
    return kind in _SPEAKERS and not touched.may_touch(kind, data_json)


@cache
def kind_word(kind: str) -> str:
    """Return the generated word that marks events of a kind."""
    return f"{vocabulary.OWN}k{kind.replace('_', '')}"


def agent_word(row: int) -> str:
    """Return the generated word that marks events of an agent."""
    return f"{vocabulary.OWN}a{row}"
