"""The command ``add``: messages from the arguments, from stdin or from a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from reel.base.errors import InvalidMessage, TooLarge
from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.base.values import clean_deep, fit_messagepack, why_not_plain
from reel.cli.line.arguments import VARIABLE, UsageError
from reel.cli.line.context import Context
from reel.cli.line.files import STDIN, read_stdin
from reel.reading.wording import count, seq_range
from reel.said.new_messages import text, tool_result
from reel.wire.frames import MAX_ELEMENTS, MAX_MESSAGE

if TYPE_CHECKING:
    from typing import Any

    from reel.said.messages import Addable, NewMessage

# Messages that fit into one command, unless they are very long.
_MESSAGES_PER_PART = 5000
# How deep the values of a message may nest: of the sixteen levels of a frame, the request around it takes two.
_MAX_NESTING = 14


class Input(NamedTuple):
    """The messages to add, the line of the file that each came from, and how much was replaced in them."""

    messages: list[Addable]
    lines: list[int]
    # How many invalid characters were replaced, and how many numbers that do not fit into MessagePack.
    replaced: int = 0
    numbers_as_text: int = 0


def add(ctx: Context) -> None:
    """Add messages: all of them or none."""
    given = collect(ctx)
    begin = None if ctx.args.begin is None else ctx.seq(ctx.args.begin)
    try:
        reply = ctx.client.add(
            ctx.agent,
            given.messages,
            ctx.args.create or None,
            begin,
            if_stands=ctx.args.if_stands,
            if_seq=ctx.args.if_seq,
        )
    except InvalidMessage as error:
        raise _with_line_number(error, ctx.args.file, given.lines) from None
    except TooLarge as error:
        raise _with_remedy(error, ctx, len(given.messages)) from None
    if not ctx.out.as_json:
        for orphan in reply.orphans:
            ctx.out.warn(f"note: the result #{orphan.seq} is for the call {orphan.id}, which is not open")
        note_altered(ctx, given.replaced + reply.replaced, given.numbers_as_text + reply.numbers_as_text)
    done = [f"added {seq_range(reply.first, reply.head)}"] if reply.first else []
    done += [f"{count(len(reply.known), 'message')} known already"] if reply.known else []
    done += [f"{count(reply.dropped, 'message')} set aside"] if reply.dropped else []
    done += [f"{count(reply.late, 'message')} came meanwhile"] if reply.late else []
    ctx.report(reply, f"{ctx.agent}: {'; '.join(done)}", "undo", ctx.agent)


def note_altered(ctx: Context, replaced: int, numbers: int) -> None:
    """Print how much of the messages had to be altered."""
    if replaced:
        were = "was" if replaced == 1 else "were"
        ctx.out.warn(f"note: {count(replaced, 'invalid character')} {were} replaced by U+FFFD")
    if numbers:
        ctx.out.warn(f"note: shown as text, because some clients cannot hold it: {count(numbers, 'number')}")


def collect(ctx: Context) -> Input:
    """Collect the messages from the arguments, from stdin or from a file.

    Raises:
        UsageError: options contradict each other, or there is nothing to add.
        InvalidMessage: a line of the file is not a message.
    """
    args = ctx.args
    given = [
        f"--{name.replace('_', '-')}" for name in ("tool_call", "tool_result", "file", "role") if getattr(args, name)
    ]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be combined; --file can mix them")
    if args.error and not args.tool_result:
        raise UsageError("--error needs --tool-result")
    if args.file:
        return _from_file(args.file, may_be_empty=args.begin is not None)
    message, replaced = clean_deep(_message(ctx))
    return Input([message], [], replaced)


def _message(ctx: Context) -> NewMessage:
    args = ctx.args
    if args.tool_call:
        return tool_calls(args.tool_call)
    if args.tool_result:
        call_id, output = args.tool_result
        if output == STDIN:
            output = _required_stdin(f"result for the call {call_id!r}")
        return tool_result(call_id, output, args.error)
    return text(args.role or "user", _text(ctx.agent, ctx.word))


def tool_calls(calls: Iterable[Iterable[str]]) -> NewMessage:
    """Return an assistant's message of tool calls, each given as an id, a name and its arguments."""
    content: list[Any] = [
        {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments} for call_id, name, arguments in calls
    ]
    return {"role": "assistant", "content": content}


def _text(agent: str, word: str | None) -> str:
    if word is not None and word != STDIN:
        return word
    # If the single argument was meant as the text, fail instead of waiting for stdin.
    if word is None and (" " in agent or sys.stdin.isatty()):
        raise UsageError(
            f"no text for the conversation {agent!r}; give a name and a text, or set ${VARIABLE}, or pipe the text in"
        )
    return _required_stdin(f"message for the conversation {agent!r}")


def _required_stdin(what: str) -> str:
    if (said := read_stdin()) is None:
        raise UsageError(f"stdin was empty, so there is no {what}; to add an empty one pass ''")
    return said


def _from_file(path: str, *, may_be_empty: bool) -> Input:
    if path == STDIN:
        return parse_lines(sys.stdin.buffer, "stdin", may_be_empty=may_be_empty)
    with open(path, "rb") as file:
        return parse_lines(file, path, may_be_empty=may_be_empty)


def parse_lines(lines: Iterable[bytes], source: str, *, may_be_empty: bool = False) -> Input:
    """Parse JSON Lines: each line is a message, a record or a string. Blank lines are skipped, but counted.

    Args:
        lines: the lines of the file.
        source: what to call the file in errors.
        may_be_empty: whether a file without messages is no mistake.

    Raises:
        InvalidMessage: a line is not one of these.
        UsageError: the file has no message.
    """
    from reel.base.strict_json import parse  # noqa: PLC0415 - a plain add needs no JSON parser

    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered and not may_be_empty:
        raise UsageError(f"{source} has no messages")
    parsed = [_parse(line, f"{source} line {number}", parse) for number, line in numbered]
    return Input(
        [value for value, _, _ in parsed],
        [number for number, _ in numbered],
        sum(replaced for _, replaced, _ in parsed),
        sum(numbers for _, _, numbers in parsed),
    )


def _parse(line: bytes, where: str, parse: Callable[[str], Any]) -> tuple[Addable, int, int]:
    """Parse a line. The daemon checks the message; here it only has to be something that can be sent.

    Returns:
        the message, how many characters were replaced in it, and how many numbers.
    """
    try:
        value = parse(line.decode())
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"{where}: not valid JSON: {error}") from None
    if not isinstance(value, str | dict):
        raise InvalidMessage(f"{where}: expected a message, a record or a string")
    if (problem := why_not_plain(value, _MAX_NESTING)) is not None:
        raise InvalidMessage(f"{where}: {problem}")
    value, numbers = fit_messagepack(value)
    return *clean_deep(value), numbers


def _with_remedy(error: TooLarge, ctx: Context, messages: int) -> TooLarge:
    """Return the error with a command that adds a file in parts, if it has too many messages for one."""
    if messages <= _MESSAGES_PER_PART:
        return error
    from shlex import join  # noqa: PLC0415 - only here

    about = f"{messages:,} messages are more than one command can add ({MAX_ELEMENTS:,}, and {MAX_MESSAGE >> 20} MiB)"
    each = ctx.command("add", ctx.agent, "--file", STDIN)
    parts = join(["split", "-l", str(_MESSAGES_PER_PART), f"--filter={each}", ctx.args.file or STDIN])
    return TooLarge(f"{about}; add them in parts with: {parts}", **error.data)


def _with_line_number(error: InvalidMessage, path: str | None, lines: list[int]) -> InvalidMessage:
    """Return the error with the line of the file that the refused message came from."""
    index = error.data.get("index")
    if not path or not isinstance(index, int) or index >= len(lines):
        return error
    return InvalidMessage(f"{path} line {lines[index]}: {error.message}", **error.data)
