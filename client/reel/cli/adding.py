"""The command ``add``: messages from the arguments, from stdin or from a file."""

import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from reel.cli.arguments import VARIABLE, UsageError
from reel.cli.context import Context
from reel.errors import InvalidMessage, TooLarge
from reel.frames import MAX_MESSAGE
from reel.messages import Addable, NewMessage, text, tool_result
from reel.session import MAX_ELEMENTS
from reel.values import clean_deep, fit_messagepack, why_not_plain

_STDIN = "-"
# Messages that one command takes, unless they are very long.
_MESSAGES_PER_PART = 5000
# Lists and maps that a message may have inside one another: the request around it has two of the sixteen.
_MAX_NESTING = 14


class Input(NamedTuple):
    """What is to be added, the line of the file that each message stood on, and what had to be replaced in them."""

    messages: list[Addable]
    lines: list[int]
    # Characters that no text can have, and numbers that MessagePack does not have.
    replaced: int = 0
    numbers_as_text: int = 0


def add(ctx: Context) -> None:
    """Add messages, all or none."""
    given = collect(ctx)
    try:
        reply = ctx.client.add(ctx.agent, given.messages, ctx.args.create or None, if_seq=ctx.args.if_seq)
    except InvalidMessage as error:
        raise _with_line_number(error, ctx.args.file, given.lines) from None
    except TooLarge as error:
        raise _with_remedy(error, ctx, len(given.messages)) from None
    if not ctx.out.as_json:
        for orphan in reply.orphans:
            ctx.out.warn(f"note: the result of {orphan.seq} is for {orphan.id}, a call that is not open")
        note_altered(ctx, given.replaced + reply.replaced, given.numbers_as_text + reply.numbers_as_text)
    seqs = f"{reply.first}-{reply.head}" if reply.head > reply.first else f"{reply.first}"
    ctx.report(reply, f"{ctx.agent}: added {seqs}", "undo", ctx.agent)


def note_altered(ctx: Context, replaced: int, numbers: int) -> None:
    """Note what of the messages could not stay as it was."""
    if replaced:
        ctx.out.warn(f"note: characters that no text can have were replaced: {replaced}")
    if numbers:
        ctx.out.warn(f"note: numbers that some clients cannot hold are shown as text: {numbers}")


def collect(ctx: Context) -> Input:
    """Collect what is to be added.

    Raises:
        UsageError: two things are asked for at once, or nothing is.
        InvalidMessage: a line of the file is no message.
    """
    args = ctx.args
    given = [f"--{name.replace('_', '-')}" for name in ("tool_call", "tool_result", "file", "role") if vars(args)[name]]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} do not go together; a --file can mix them")
    if args.error and not args.tool_result:
        raise UsageError("--error goes with --tool-result")
    if args.file:
        return _from_file(args.file)
    return Input([_message(ctx)], [])


def _message(ctx: Context) -> NewMessage:
    args = ctx.args
    if args.tool_call:
        return tool_calls(args.tool_call)
    if args.tool_result:
        call_id, output = args.tool_result
        if output == _STDIN:
            output = _read_stdin(f"for the call {call_id!r}")
        return tool_result(call_id, output, args.error)
    return text(args.role or "user", _text(ctx.agent, ctx.word))


def tool_calls(calls: Iterable[Iterable[str]]) -> NewMessage:
    """Make the assistant's message of calls, each an id, a name and its arguments."""
    content: list[Any] = [
        {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments} for call_id, name, arguments in calls
    ]
    return {"role": "assistant", "content": content}


def _text(agent: str, word: str | None) -> str:
    if word is not None and word != _STDIN:
        return word
    # Who meant the only word as the text should not wait for another on stdin.
    if word is None and (" " in agent or sys.stdin.isatty()):
        raise UsageError(f"no text for the agent {agent!r}; give both, or set ${VARIABLE}, or pipe the text in")
    return _read_stdin(f"for the agent {agent!r}")


def _read_stdin(what: str) -> str:
    """Read a text as a shell's ``$(…)`` does: without the end of its last line."""
    said = sys.stdin.buffer.read().decode(errors="replace")
    if not said:
        raise UsageError(f"nothing came from stdin {what}; an empty text is given as ''")
    return said.removesuffix("\n").removesuffix("\r")


def _from_file(path: str) -> Input:
    if path == _STDIN:
        return parse_lines(sys.stdin.buffer, "stdin")
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib costs 4 ms
        return parse_lines(file, path)


def parse_lines(lines: Iterable[bytes], source: str) -> Input:
    """Read JSON lines: each a message, a record or a string; blank ones count but say nothing.

    Args:
        lines: as they stand in the file.
        source: what to call it in errors.

    Raises:
        InvalidMessage: a line is none of these.
        UsageError: there is no message in it.
    """
    from reel.strict_json import parse  # noqa: PLC0415 - a plain add does without a JSON parser

    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        raise UsageError(f"{source} has no message in it")
    parsed = [_parse(line, f"{source} line {number}", parse) for number, line in numbered]
    return Input(
        [value for value, _, _ in parsed],
        [number for number, _ in numbered],
        sum(replaced for _, replaced, _ in parsed),
        sum(numbers for _, _, numbers in parsed),
    )


def _parse(line: bytes, where: str, parse: Callable[[str], Any]) -> tuple[Addable, int, int]:
    """Read a line; the daemon checks what is in it, but it must be something that can be sent.

    Returns:
        what is sent, how many characters were replaced in it, and how many numbers.
    """
    try:
        value = parse(line.decode())
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"{where}: no JSON: {error}") from None
    if not isinstance(value, str | dict):
        raise InvalidMessage(f"{where}: expected a message, a record or a string")
    if (problem := why_not_plain(value, _MAX_NESTING)) is not None:
        raise InvalidMessage(f"{where}: {problem}")
    value, numbers = fit_messagepack(value)
    return *clean_deep(value), numbers


def _with_remedy(error: TooLarge, ctx: Context, count: int) -> TooLarge:
    """Say how a file comes in that is too large for one command."""
    if count <= _MESSAGES_PER_PART:
        return error
    from shlex import join  # noqa: PLC0415 - only here

    about = f"{count:,} messages are more than one command can add ({MAX_ELEMENTS:,}, and {MAX_MESSAGE >> 20} MiB)"
    each = ctx.command("add", ctx.agent, "--file", _STDIN)
    parts = join(["split", "-l", str(_MESSAGES_PER_PART), f"--filter={each}", ctx.args.file])
    return TooLarge(f"{about}; add them in parts with: {parts}", **error.data)


def _with_line_number(error: InvalidMessage, path: str | None, lines: list[int]) -> InvalidMessage:
    """Say in which line of the file the message stands that the daemon refused."""
    index = error.data.get("index")
    if not path or not isinstance(index, int) or index >= len(lines):
        return error
    return InvalidMessage(f"{path} line {lines[index]}: {error.message}", **error.data)
