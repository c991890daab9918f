"""The command ``replay``."""

from typing import Any

from reel import requests
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.output import Line
from reel.reading.wording import count
from reel.replies import ReplayPage

_LARGE = 10_000


def replay(ctx: Context) -> int:
    """Rebuild the conversation from the log and show whether the live state was the same."""
    # The daemon reads the whole log for each page: ask for large pages, and no more than are shown.
    call = requests.replay(ctx.agent, at=ctx.args.at, strict=ctx.args.strict or None, limit=_LARGE)
    if ctx.out.as_json:
        pages = list(ctx.client.pages(call))
        messages: list[Any] = [message for page in pages for message in page.messages or []]
        page = pages[0]._replace(messages=messages, more=False)
        ctx.out.document(page)
    else:
        page = ctx.client.call(call)
        ctx.out.lines(verdict(page, ctx.agent))
    return REFUSED if page.matched is False else OK


def verdict(page: ReplayPage, agent: str) -> list[Line]:
    """Lay out the result of a replay."""
    state = {
        None: "",
        True: "; the live state is the same",
        False: "; the live state DIFFERED and was repaired",
    }[page.matched]
    messages = f"{'more than ' if page.more else ''}{count(len(page.messages or []), 'message')}"
    lines: list[Line] = [[f"{agent}: {messages} at #{page.at}{state}"]]
    lines += [[(f"  skipped #{skipped.seq}: {skipped.reason}", "error")] for skipped in page.skipped]
    return lines
