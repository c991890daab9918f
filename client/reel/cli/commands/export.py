"""The command ``export``: conversations as files."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress

from reel import requests
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.screen.output import to_json
from reel.reading.wording import count

if TYPE_CHECKING:
    from typing import Any

    from reel.exporting.story import Heading
    from reel.replies import AgentInfo, MessagesPage
    from reel.said.messages import Event, Message

# The suffix of a file of each form; provider formats are JSON.
# What -o takes for standard output, as other commands take it for standard input.
STDOUT = "-"
_ENDINGS = {"markdown": ".md", "html": ".html", "jsonl": ".jsonl"}


def export(ctx: Context) -> None:
    """Write a conversation, or all of them."""
    args = ctx.args
    args.format = args.format or "markdown"
    if "" in (args.directory, args.output):  # as of an unset variable; below "" is the root of the file system
        raise UsageError("the name of the file or directory is empty; name one")
    if args.directory is None:
        if not ctx.agent:
            raise UsageError("no conversation was named; name one, or export all of them with --all DIR")
        pieces = _exported(ctx, ctx.client.agent(ctx.agent), args.at)
        if args.output in (None, STDOUT) and ctx.out.terminal:
            for piece in pieces:
                ctx.out.piece(piece)
        elif args.output in (None, STDOUT):
            sys.stdout.buffer.writelines(piece.encode(errors="replace") for piece in pieces)
            sys.stdout.buffer.flush()
        else:
            _write(args.output, pieces)
            ctx.out.line(f"written: {args.output}")
        return
    if args.output is not None or args.at is not None:
        raise UsageError(f"--all cannot be combined with {'--at' if args.output is None else '--output'}")
    # Some file systems do not tell capitals from small letters.
    written = set[str]()
    for page in ctx.client.pages(requests.agents()):
        for row in page.agents:
            agent = ctx.client.agent(row.id)
            path = path_of(agent.name, ending(args.format))
            if not agent.alive or path.casefold() in written:
                path = f"{path}@{agent.id}"
            file = f"{args.directory}/{path}{ending(args.format)}"
            os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
            _write(file, _exported(ctx, agent, None))
            written.add(path.casefold())
    ctx.out.line(f"{count(len(written), 'conversation')} written to {args.directory}")


def ending(form: str) -> str:
    """Return the suffix of a file of this form."""
    return _ENDINGS.get(form, ".json")


def path_of(name: str, suffix: str) -> str:
    """Return the relative path for an agent's file: its name, of which no part is hidden or leads elsewhere.

    Args:
        name: the agent's name.
        suffix: the suffix of its file; no directory ends with it, or it might be in the place of another agent's file.
    """
    parts = [f"_{part}" if part.startswith(".") else part for part in name.split("/") if part]
    folders = [f"{part}_" if part.casefold().endswith(suffix) else part for part in parts[:-1]]
    return "/".join([*folders, *parts[-1:]]) or "_"


def _exported(ctx: Context, agent: AgentInfo, at: int | None) -> Iterator[str]:
    """Return a conversation in the form that the arguments name, in pieces."""
    form: Any = ctx.args.format  # one of the parser's choices
    if form == "jsonl":
        return _log(ctx, agent, at)
    if form not in _ENDINGS:
        return iter([ctx.client.render(agent.id, format=form, at=at, model=ctx.args.model).body + "\n"])
    pages = ctx.client.pages(requests.messages(agent.id, at=at))
    first = next(pages)
    messages = _messages(first, pages)
    if form == "markdown":
        from reel.exporting.markdown import markdown  # noqa: PLC0415 - one form is written

        return markdown(_heading(agent, first), messages)
    from reel.exporting.page import page  # noqa: PLC0415 - as above
    from reel.exporting.story import story  # noqa: PLC0415 - as above

    return page(_heading(agent, first), story(messages, _events(ctx, agent, first.at)))


def _heading(agent: AgentInfo, page: MessagesPage) -> Heading:
    from reel.exporting.story import Heading  # noqa: PLC0415 - two of the forms have one

    return Heading(agent.name, agent.title, agent.tags, page.system, page.at)


def _messages(first: MessagesPage, rest: Iterable[MessagesPage]) -> Iterator[Message]:
    yield from first.messages
    for page in rest:
        yield from page.messages


def _events(ctx: Context, agent: AgentInfo, at: int) -> Iterator[Event]:
    """Yield an agent's events up to a seq, with those from before it was cloned."""
    for page in ctx.client.pages(requests.history(agent.id, inherited=True)):
        for event in page.events:
            if event["seq"] > at:
                return
            yield event


def _log(ctx: Context, agent: AgentInfo, at: int | None) -> Iterator[str]:
    """Yield the agent, and each of its events, as a line of JSON."""
    about = {"id": agent.id, "name": agent.name, "title": agent.title, "tags": agent.tags, "alive": agent.alive}
    source = None if agent.source is None else agent.source._asdict()
    yield to_json({"reel": 1, "agent": {**about, "source": source, "head": agent.head}}) + "\n"
    for event in _events(ctx, agent, agent.head if at is None else at):
        yield to_json(event) + "\n"


def _write(path: str, pieces: Iterable[str]) -> None:
    """Write a file as a whole or not at all; only its owner can read it. Write into a pipe or a device as it is.

    Raises:
        OSError: it cannot be written.
    """
    encoded = (piece.encode(errors="replace") for piece in pieces)
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as file:
            file.writelines(encoded)
        return
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):  # making it would hide a typing error
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    draft = f"{path}.{os.getpid()}.part"
    file = open(draft, "wb", opener=_private)  # noqa: SIM115 - what is there already must not be removed below
    try:
        with file:
            file.writelines(encoded)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL, 0o600)  # a link of this name would lead elsewhere
