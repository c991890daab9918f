"""Copies of what messages say, in records that programs keep beside a conversation, found by comparing the content.

A program that stores a message may name the records that repeat it, and the daemon redacts these too. It cannot name
records that come later, and older programs name none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from reel import requests
from reel.base.errors import NotFound
from reel.cli.line.context import Context
from reel.said.blocks import InvalidRecord
from reel.said.messages import Event
from reel.said.records import message_from_record

# The kinds of records that programs keep: values, which they can do without, and others, which they may need whole.
VALUES = ("state",)
OTHERS = ("command", "note")
# Shorter texts, such as a yes, are in many records that have nothing to do with them.
_SHORTEST = 8
# How deep a text may be in JSON within JSON.
_LEVELS = 3


def words_of(ctx: Context, agent: str, seqs: list[int]) -> frozenset[str]:
    """Return what some messages say, in each form in which records of programs may have it."""
    return frozenset(form for seq in seqs for text in _texts(ctx, agent, seq) for form in _forms(text))


def records_with(ctx: Context, agent: str, words: frozenset[str], *kinds: str) -> list[int]:
    """Return the seqs of the records in a conversation's past that have any of some words.

    Args:
        ctx: the command's context.
        agent: the conversation.
        words: the words.
        kinds: the kinds of the records.
    """
    if not words:
        return []
    return [
        event["seq"]
        for page in ctx.client.pages(requests.history(agent, kinds=kinds, inherited=True))
        for event in page.events
        if any(word in (event["data_json"] or "") or word in (event["content"] or "") for word in words)
    ]


def are_in_title(words: frozenset[str], title: str) -> bool:
    """Return whether a title is a part of what was said, or has all of it."""
    line = " ".join(title.split())
    return len(line) >= _SHORTEST and any(line in said or said in line for said in (" ".join(w.split()) for w in words))


def _texts(ctx: Context, agent: str, seq: int) -> set[str]:
    """Return the texts of an event that are long enough to be known again."""
    try:
        events = ctx.client.history(agent, since=seq - 1, before=seq + 1, inherited=True).events
    except NotFound:
        return set()
    return {text for event in events for text in _leaves(_message(event)) if len(text) >= _SHORTEST}


def _message(event: Event) -> Any:
    try:
        message = message_from_record(event)
    except InvalidRecord:
        return event["content"]
    return [block for block in message["content"] if block["type"] != "opaque"] if message else event["content"]


def _leaves(value: Any) -> Iterator[str]:
    """Yield the texts in blocks: what is said, and what calls and results have."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, dict):
        for key in ("text", "content", "arguments"):
            if key in value:
                yield from _leaves(value[key])


def _forms(text: str) -> Iterator[str]:
    """Yield a text as it is, as JSON writes it, and as JSON within JSON does."""
    for is_ascii in (False, True):
        form = text
        for _ in range(_LEVELS):
            yield form
            form = json.dumps(form, ensure_ascii=is_ascii)[1:-1]
