"""The command ``blame``: which conversation wrote each line of a file."""

from __future__ import annotations

import os
import re
import time

from reel import requests
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.blamed_file import blamed_file
from reel.cli.commands.shared.edits import collected
from reel.cli.commands.shared.pager import paged
from reel.cli.commands.shared.searches import as_people_read
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.blame_lines import blame_lines
from reel.reading.branches import KINDS
from reel.reading.standing import Standing
from reel.reading.turns import newest_question
from reel.reading.unindexed import unindexed
from reel.reading.when_said import said_at
from reel.reading.wording import count, flat, full_time
from reel.said.media import media_in_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from reel.cli.commands.shared.blamed_file import Blamed
    from reel.replies import Edit
    from reel.said.messages import Message

_LINE = re.compile(r"(.+):(\d+)")
# How many seqs before an edit what was asked is looked for: at first, and in each further attempt.
_LOOK_BACK = (50, 1000, 10_000)


def blame(ctx: Context) -> int:
    """Print who wrote each line of a file, or all that is known of one line."""
    path, number = _place(ctx.words[0])
    found = blamed_file(ctx, path)
    if number is not None and not 1 <= number <= len(found.lines):
        raise UsageError(f"{path} has no line {number}; it has {count(len(found.lines), 'line')}")
    if ctx.out.as_json:
        ctx.out.documents(_documents(ctx, path, found, number))
    elif number is None:
        _show(ctx, found)
    else:
        _show_line(ctx, path, found, number)
    if found.behind:
        ctx.out.warn(f"{unindexed(found.behind, ctx.client.stats())}; repeat it later")
    is_known = any(found.writers) if number is None else found.writers[number - 1] is not None
    if not is_known and not ctx.out.as_json:
        ctx.out.warn(_why_not(ctx, path, found, number))
    return OK if is_known else REFUSED


def _place(word: str) -> tuple[str, int | None]:
    """Return the path and the number of a line; if a file has the whole word as its name, that file is meant."""
    match = _LINE.fullmatch(word)
    return (word, None) if match is None or os.path.exists(word) else (match[1], int(match[2]))


def _why_not(ctx: Context, path: str, found: Blamed, number: int | None) -> str:
    if not found.edits:
        # Of a copy of the project, or after it was moved, the paths that were written are others.
        tail = os.sep.join(os.path.abspath(path).split(os.sep)[-2:])
        elsewhere, _ = collected(ctx, 1, path=tail, deed="wrote")
        other = f", but {elsewhere[0].path} was written" if elsewhere else ""
        return f"no edit of {path} is known{other}; reel import brings in what coding agents did"
    what = "no line" if number is None else f"line {number}"
    negated = "" if number is None else "not "
    return f"{what} of {path} is {negated}known to be from one of its {count(found.edits, 'edit')}"


def _show(ctx: Context, found: Blamed) -> None:
    """Print all lines."""
    writers = list({writer.id: writer for writer in found.writers if writer}.values())
    names = {writer.id: writer for writer in as_people_read(ctx.client, writers)} if ctx.out.terminal else {}
    shown = [writer and names.get(writer.id, writer)._replace(call=writer.call) for writer in found.writers]
    rows = zip(range(1, len(shown) + 1), found.lines, shown, strict=True)
    with paged(ctx):
        ctx.out.lines(blame_lines(rows, _tools(ctx, found.writers), _day if ctx.out.terminal else full_time))


def _day(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(milliseconds / 1000))


def _tools(ctx: Context, writers: Iterable[Edit | None]) -> dict[str, str]:
    """Return the names of the tools that were called, by the ids of the calls."""
    found: dict[str, str] = {}
    for agent, seq in dict.fromkeys((writer.agent, writer.seq) for writer in writers if writer):
        for message in ctx.client.messages(agent, since=seq - 1, limit=1, at=seq).messages:
            found |= {block["id"]: block["name"] for block in message["content"] if block["type"] == "tool_call"}
    return found


def _show_line(ctx: Context, path: str, found: Blamed, number: int) -> None:
    """Print a line, who wrote it, what was asked, and how to read on."""
    ctx.out.line((f"{path}:{number}", "heading"))
    ctx.out.line("    ", found.lines[number - 1])
    writer = found.writers[number - 1]
    if writer is None:
        return
    name = as_people_read(ctx.client, [writer])[0].name if ctx.out.terminal else writer.name
    tool = _tools(ctx, [writer]).get(writer.call, "")
    title = f"  {writer.title}" if writer.title else ""
    ctx.out.line((name, "heading"), f"  #{writer.seq}", (f"  {ctx.clock(said_at(writer))}  {tool}{title}", "dim"))
    asked = _asked(ctx, writer)
    if asked is not None:
        ctx.out.line((f"  #{asked[0]} user  ", "user"), flat(asked[1]))
    ctx.out.line((f"  {_told(*_standing(ctx, writer))}", "dim"))
    ctx.out.hint(f"read on with: {ctx.command(*_reading(writer))}")


def _reading(writer: Edit) -> Sequence[str]:
    """Return the arguments of the command that shows the message."""
    return ["show", writer.name, *([str(writer.seq)] if writer.live else ["--at", str(writer.seq)])]


def _asked(ctx: Context, writer: Edit) -> tuple[int, str] | None:
    """Return what a person said last before an edit, and the seq of that message."""
    for back in _LOOK_BACK:
        since = max(writer.seq - back, 0)
        before: list[Message] = []
        # A position inside a command counts as the end of the command, which may be far away.
        for page in ctx.client.pages(requests.messages(writer.agent, since=since, limit=back, at=writer.seq)):
            before += [message for message in page.messages if message["seq"] < writer.seq]
            if page.messages and page.messages[-1]["seq"] >= writer.seq:
                break
        if question := newest_question(before):
            return question[0]["seq"], "\n\n".join(_words_in(question[0]))
        if not since:
            break
    return None


def _words_in(message: Message) -> Iterator[str]:
    """Yield the texts of a message, and words for its pictures and files."""
    for block in message["content"]:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "media":
            yield media_in_short(block)


def _standing(ctx: Context, writer: Edit) -> tuple[Standing, list[str]]:
    """Return whether an edit is still in its conversation, and the clones that have it."""
    standing = Standing((writer.agent, writer.seq))
    if writer.live:
        return standing, []
    for page in ctx.client.pages(requests.history(writer.agent, since=writer.seq, kinds=KINDS)):
        standing.add(page.events)
    clones = [
        row.name
        for rows in ctx.client.pages(requests.agents(source=writer.agent))
        for row in rows.agents
        if row.source is not None and standing.had_at(row.source.at)
    ]
    return standing, clones


def _told(standing: Standing, clones: Sequence[str]) -> str:
    if standing.gone is None:
        return "in the conversation"
    return "; ".join([standing.words, *(f"{name} has it" for name in clones)])


def _documents(ctx: Context, path: str, found: Blamed, number: int | None) -> Iterable[dict[str, Any]]:
    """Yield a document for each line; for a single line, also with what was asked."""
    tools = _tools(ctx, found.writers if number is None else [found.writers[number - 1]])
    for at, (text, writer) in enumerate(zip(found.lines, found.writers, strict=True), 1):
        if number not in (None, at):
            continue
        row = {"path": path, "line": at, "text": text, "agent": None}
        if writer is not None:
            row |= {name: getattr(writer, name) for name in ("agent", "name", "title", "seq", "call", "live")}
            row |= {"tool": tools.get(writer.call), "time": said_at(writer)}
            if number is not None:
                standing, clones = _standing(ctx, writer)
                asked = _asked(ctx, writer)
                row["asked"] = None if asked is None else {"seq": asked[0], "text": asked[1]}
                row["gone"] = None if standing.gone is None else {"seq": standing.gone[0], "kind": standing.gone[1]}
                row["clones"] = clones
        yield row
