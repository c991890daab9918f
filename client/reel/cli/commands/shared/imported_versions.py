"""What an import has added of one message more than once: a redaction of one of them takes all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reel import requests
from reel.base.errors import NotFound
from reel.cli.line.context import Context
from reel.replies import AgentInfo
from reel.said.kinds import NODE_KINDS


def versions_of(ctx: Context, agent: str, seqs: list[int]) -> tuple[list[int], dict[str, list[int]]]:
    """Return the other versions of messages, as far as they are known; none of those that no import has added.

    Args:
        ctx: the command's context.
        agent: the conversation.
        seqs: the messages.

    Returns:
        The seqs of those in the same past; and of others, by the ids of the conversations of the same origin that have
        them.
    """
    if not seqs:
        return [], {}
    from reel.importing.adding.target import CLIENT  # noqa: PLC0415 - most redactions need no importer
    from reel.importing.adding.versions import Versions  # noqa: PLC0415 - most redactions need no importer

    try:
        if not any(event["client"] == CLIENT for seq in seqs for event in _at(ctx, agent, seq)):
            return [], {}
    except NotFound:
        return [], {}
    own = ctx.client.agent(agent)
    # By their ids: a killed conversation and a living one may have the same name.
    versions = Versions(lambda log, seq: _at(ctx, log, seq)[0])
    for each in (own.id, *_of_the_same_origin(ctx, own)):
        versions.take(each, _events(ctx, each, kinds=[*NODE_KINDS], inherited=True))
    found = versions.of(own.id, seqs)
    return found.pop(own.id, []), found


def with_texts(ctx: Context, agent: str, texts: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """Yield the ids of other conversations of the same origin that have texts of their own, and the seqs of these."""
    if not texts:
        return
    from reel.cli.commands.shared.texts_in_files import forms  # noqa: PLC0415 - it knows of secrets, which takes time

    words = forms(texts)
    for each in _of_the_same_origin(ctx, ctx.client.agent(agent)):
        said = {event["seq"]: f"{event['content']}{event['data_json']}" for event in _events(ctx, each)}
        if left := [seq for seq, text in said.items() if any(word in text for word in words)]:
            yield each, left


def _of_the_same_origin(ctx: Context, own: AgentInfo) -> list[str]:
    """Return the ids of the other agents that were imported from the same conversation."""
    origin = own.tags.get("import")
    rows = ctx.client.iter_agents() if origin else ()
    return [row.id for row in rows if row.id != own.id and row.tags.get("import") == origin]


def with_words(ctx: Context, versions: dict[str, list[int]]) -> Iterator[tuple[str, list[int]]]:
    """Yield the ids of conversations with versions of which nothing was redacted, and the seqs of these."""
    from reel.importing.adding.markers import has_marker  # noqa: PLC0415 - most redactions need no importer

    for agent, seqs in versions.items():
        events = [event for seq in seqs for event in _at(ctx, agent, seq)]
        if left := [event["seq"] for event in events if not has_marker(f"{event['content']}{event['data_json']}")]:
            yield agent, left


def _events(ctx: Context, agent: str, **which: Any) -> Iterator[Any]:
    for page in ctx.client.pages(requests.history(agent, **which)):
        yield from page.events


def _at(ctx: Context, agent: str, seq: int) -> list[Any]:
    return [*ctx.client.history(agent, since=seq - 1, before=seq + 1, inherited=True).events]
