"""A title that a model gives to a conversation. What a person has set stays."""

from __future__ import annotations

from reel import requests
from reel.base.errors import Conflict, ReelError
from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.cli.commands.shared.aside import Unanswered, ask_aside
from reel.cli.line.exits import REFUSED
from reel.reading.wording import flat

if TYPE_CHECKING:
    from typing import Any

    from reel.cli.commands.shared.provider import Provider
    from reel.cli.line.context import Context
    from reel.requests import Call

_QUESTION = """\
Write a title for this conversation: at most eight words, in the language of the user, without quotes and without a \
full stop. Answer with the title alone, and call no tools."""
# The most characters of a title; a model that writes more has not understood the question.
_LONGEST = 80
# What some models put around a title, or around the word "Title:" before it.
_AROUND = " \t*#\"'“”„«»`"
# How often to try again if others write meanwhile.
_TRIES = 10


class Titled(NamedTuple):
    """A title that was set, and the heads before and after."""

    title: str
    before: int
    head: int


def title_conversation(ctx: Context, agent: str, provider: Provider) -> Titled | None:
    """Let a model title a conversation that has no title; say it if that has not worked.

    Args:
        ctx: the command's context.
        agent: the conversation, an id.
        provider: who is asked.
    """
    try:
        if ctx.client.agent(agent).title is not None:
            return None
        return _make(ctx, agent, provider)
    except (Unanswered, ReelError) as error:
        ctx.out.warn(f"there is no title: {error}")
        return None


def _make(ctx: Context, agent: str, provider: Provider) -> Titled | None:
    answer = ask_aside(ctx, agent, provider, _QUESTION, "waiting for a title")
    title = as_title(answer.text)
    if not title:
        raise Unanswered(REFUSED, f"the model wrote {flat(answer.text)!r}")
    for _ in range(_TRIES):
        now = ctx.client.agent(agent)
        if now.title is not None:  # a person was faster
            return None
        parts: list[Call[Any]] = [requests.change(agent, title=title, if_seq=now.head)]
        parts += [requests.add(agent, answer.usage)] if answer.usage else []
        try:
            done = ctx.client.commit(parts)
        except Conflict:
            continue
        ctx.out.hint(f"titled: {title}")
        return Titled(title, now.head, done.head)
    raise Conflict("others write all the time")


def as_title(text: str) -> str:
    """Return what a model wrote as a title: its first line, without the quotes and marks that some put around it."""
    line = flat(text.strip().splitlines()[0]).strip(_AROUND)
    line = line.removeprefix("Title:").strip(_AROUND).rstrip(".")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1].rstrip()}…"
