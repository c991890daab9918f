"""The command ``show``: a conversation for people, and its texts for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from reel import requests
from reel.base.errors import InvalidParams
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.ending import ending
from reel.cli.commands.shared.pager import paged
from reel.cli.commands.shared.waiting import waits_for
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.line.positions import Range, parse_range
from reel.cli.screen.output import screen_height
from reel.cli.screen.transcript import Fold, Transcript
from reel.reading.approvals import MESSAGES

if TYPE_CHECKING:
    from reel.replies import MessagesPage
    from reel.said.messages import Message

# How many messages are read to find the last answer, at first and then.
_LOOK_BACK = (10, 10_000)
# How many lines of a tool's output are left if it would fill more than half of the screen.
_FOLDED_TO = 5


def show(ctx: Context) -> int:
    """Show the conversation, or print texts of it."""
    args = ctx.args
    forms = {"--records": args.records, "--text": args.texts_only, "--last-answer": args.last_answer}
    block = args.block if args.block is not None else 1 if args.code else None
    forms["--code" if args.code else "--block"] = block is not None
    given = [flag for flag, form in forms.items() if form]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be combined")
    if args.brief and args.full:
        raise UsageError("--brief and --full cannot be combined")
    if args.last_answer or block is not None:
        return _print_answer(ctx, block)
    if args.texts_only:
        _print_texts(ctx)
        return OK
    with paged(ctx, at_end=ctx.word is None):
        if args.records:
            _show_records(ctx)
        else:
            _show_messages(ctx)
    return OK


def _selected(ctx: Context) -> Iterator[MessagesPage]:
    """Yield pages with the messages that the arguments select."""
    args = ctx.args
    chosen = None if ctx.word is None else parse_range(ctx.word, ctx.seq)
    if chosen is None:
        yield from ctx.client.pages(requests.messages(ctx.agent, last=args.last, at=args.at))
        return
    if args.last is not None:
        raise UsageError("--last and a range of messages cannot be combined")
    found = False
    for page in ctx.client.pages(requests.messages(ctx.agent, since=max(chosen.first - 1, 0), at=args.at)):
        messages = [message for message in page.messages if message["seq"] <= chosen.last]
        found = found or bool(messages)
        yield page._replace(messages=messages)
        if len(messages) < len(page.messages):
            break
    if not found:
        raise _nothing_there(ctx, chosen)


def _nothing_there(ctx: Context, chosen: Range) -> InvalidParams:
    seq = chosen.first
    if ctx.args.at is None and seq == chosen.last and _was_there(ctx, seq):
        then = ctx.command("show", ctx.agent, str(seq), "--at", str(seq))
        return InvalidParams(f"{chosen} is no longer in the conversation of {ctx.agent}; see it as it was with: {then}")
    return InvalidParams(
        f"the conversation of {ctx.agent} has no message {chosen}; "
        f"see every event with: {ctx.command('log', ctx.agent)}"
    )


def _was_there(ctx: Context, seq: int) -> bool:
    """Return whether a message was in the conversation when it was new."""
    try:
        page = ctx.client.messages(ctx.agent, since=max(seq - 1, 0), at=seq, limit=1)
    except InvalidParams:  # there is no such seq yet
        return False
    return bool(page.messages)


def transcript_for(ctx: Context, *, folds: bool, brief: bool = False, continues: bool = False) -> Transcript:
    """Return what lays out messages for the screen, or for a pipe.

    Args:
        ctx: the command's context.
        folds: whether what a tool returned is folded if it would fill half of the screen.
        brief: whether it is folded in any case.
        continues: whether something is above the first message.
    """
    out = ctx.out
    fold = Fold(max(screen_height(sys.stdout) // 2, _FOLDED_TO), _FOLDED_TO) if folds and out.terminal else None
    unfold = ctx.command("show", ctx.agent) if out.terminal else ""
    return Transcript(
        out.width, ctx.clock, styled=out.colour, fold=fold, brief=brief, unfold=unfold, continues=continues
    )


def _transcript(ctx: Context) -> Transcript:
    # A message that was requested by its number is shown in full.
    return transcript_for(ctx, folds=not ctx.args.full and ctx.word is None, brief=ctx.args.brief)


def _show_messages(ctx: Context) -> None:
    transcript = _transcript(ctx)
    newest: list[Message] = []
    if ctx.word is None and ctx.args.last is None:
        ask = partial(requests.messages, ctx.agent, at=ctx.args.at)
        is_part, pages = ending(ctx, ask, lambda page: page.messages, _whole(ctx, "1.."))
    else:
        is_part, pages = True, _selected(ctx)
    for number, page in enumerate(pages):
        if ctx.out.as_json:
            ctx.out.documents(page.messages)
            continue
        # The system prompt is not one of the last N messages, nor of those that were asked for by their numbers.
        if number == 0 and page.system is not None and not is_part:
            ctx.out.lines(transcript.prompt(page.system))
        for message in page.messages:
            ctx.out.lines(transcript.message(message))
        if number == 0 and not page.messages and ctx.word is None:
            ctx.out.hint(f"no messages; add one with: {ctx.command('add', ctx.agent, 'TEXT')}")
        newest = [*newest, *page.messages][-MESSAGES:]
    if ctx.out.as_json or ctx.word is not None or ctx.args.at is not None:
        return
    if waits := waits_for(ctx, ctx.agent, newest, ctx.client.agent(ctx.agent).open_calls):
        ctx.out.lines(transcript.waiting(waits))


def _whole(ctx: Context, *words: str) -> list[str]:
    """Return the words of the command that shows all of the conversation."""
    at = [] if ctx.args.at is None else ["--at", str(ctx.args.at)]
    return ["show", ctx.agent, *words, *at]


def _show_records(ctx: Context) -> None:
    if ctx.word is not None:
        raise UsageError("--records and a range of messages cannot be combined")
    transcript = _transcript(ctx)
    ask = partial(requests.conversation, ctx.agent, at=ctx.args.at)
    if ctx.args.last is None:
        _, pages = ending(ctx, ask, lambda page: page.conversation, _whole(ctx, "--records", "--no-pager"))
    else:
        pages = ctx.client.pages(ask(last=ctx.args.last))
    for page in pages:
        if ctx.out.as_json:
            ctx.out.documents(page.conversation)
            continue
        for record in page.conversation:
            ctx.out.lines(transcript.record(record))


def text_of(message: Message) -> str:
    """Return the text of a message, without calls, results and thinking."""
    return "\n\n".join(block["text"] for block in message["content"] if block["type"] == "text")


def _print_texts(ctx: Context) -> None:
    """Print the texts of messages, with a blank line between two."""
    begun = False
    for page in _selected(ctx):
        for text in filter(None, map(text_of, page.messages)):
            ctx.out.piece(f"{chr(10) if begun else ''}{text}\n")
            begun = True


def _print_answer(ctx: Context, block: int | None) -> int:
    """Print the last answer, or a code block of the last one that has any."""
    for text in _answers(ctx):
        if block is None:
            ctx.out.piece(f"{text}\n")
            return OK
        from reel.reading.fences import code_blocks  # noqa: PLC0415 - only code needs it

        if blocks := code_blocks(text):
            return _print_block(ctx, [each.text for each in blocks], block)
    ctx.out.warn(_nothing_printed(ctx, block))
    return REFUSED


def _nothing_printed(ctx: Context, block: int | None) -> str:
    if block is None:
        return f"{ctx.agent} has no answer yet"
    # A number after --code is a message, and was the number of the block in version 0.1.
    hint = "" if ctx.word is None else f"; {ctx.word} is the message, and --block N the N-th code block"
    return f"no answer of {ctx.agent} has code in fences{hint}"


def _print_block(ctx: Context, blocks: list[str], number: int) -> int:
    """Print a block, counted from 1, or from the end if the number is negative."""
    index = number - 1 if number > 0 else len(blocks) + number
    if number == 0 or not 0 <= index < len(blocks):
        ctx.out.warn(f"there is no code block {number}; the answer has {len(blocks)}")
        return REFUSED
    ctx.out.piece(f"{blocks[index]}\n")
    return OK


def _answers(ctx: Context) -> Iterator[str]:
    """Yield the answers of the assistant that have a text, the newest first."""
    if ctx.word is not None or ctx.args.last is not None:
        messages = [message for page in _selected(ctx) for message in page.messages]
        yield from _said(messages)
        return
    seen = 0
    for last in _LOOK_BACK:
        page = ctx.client.messages(ctx.agent, last=last, at=ctx.args.at)
        yield from _said(page.messages[: len(page.messages) - seen])
        seen = len(page.messages)
        if seen < last:
            return


def _said(messages: list[Message]) -> Iterator[str]:
    for message in reversed(messages):
        if message["role"] == "assistant" and (text := text_of(message)):
            yield text
