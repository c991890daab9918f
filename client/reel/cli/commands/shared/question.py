"""What is asked: the text, what is piped in, and files, as the blocks of one message.

Nothing that was given is left out without a word, and nothing is stored in another form than it was given: what is no
text is attached as what it is, or refused.
"""

from __future__ import annotations

import os
import stat
import sys

from reel.base.light_typing import TYPE_CHECKING
from reel.base.values import clean
from reel.cli.line.arguments import UsageError
from reel.cli.line.files import STDIN
from reel.cli.line.stdin import Content, peek
from reel.said.files import media_block, media_type, why_not_text

if TYPE_CHECKING:
    from reel.cli.line.context import Context
    from reel.said.messages import Block

# How many seconds to wait for the first byte of a pipe beside a text: its program was started at the same time.
_MOMENT = 1.0
# The most bytes of stdin that are sent beside a text without being asked for.
_MOST = 1_000_000


class Question:
    """The parts of a message, in the order in which they were given.

    Args:
        replace: whether bytes that are not UTF-8 are replaced, in place of being refused.
    """

    def __init__(self, *, replace: bool = False) -> None:
        self._replace = replace
        self._texts: list[str] = []
        self._media: list[Block] = []
        # How many characters were replaced.
        self.replaced = 0

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the message: one text, then what is attached; none if nothing was given."""
        text = "\n\n".join(filter(None, self._texts))
        said: list[Block] = [{"type": "text", "text": text}] if text else []
        return [*said, *self._media]

    def add_text(self, text: str) -> None:
        """Add a text; what cannot be stored of it is replaced."""
        cleaned, replaced = clean(text)
        self._texts.append(cleaned)
        self.replaced += replaced

    def add_file(self, path: str, *, whole: bool = False) -> None:
        """Add a file: its text, or what it is; ``whole`` puts the file's name before its text.

        Raises:
            UsageError: it is empty, or no provider can be sent such a file.
        """
        with open(path, "rb") as file:
            self.add_bytes(file.read(), path, os.path.basename(path), whole=whole)

    def add_bytes(self, data: bytes, what: str, name: str | None = None, *, whole: bool = False) -> None:
        """Add what a file or stdin has.

        Raises:
            UsageError: as :meth:`add_file`.
        """
        if not data:
            raise UsageError(f"{what} is empty")
        kind = media_type(data)
        problem = why_not_text(data)
        # Most APIs take no file of text, so a text goes as text, which each of them takes.
        heading = f"{name}:\n\n" if whole and name else ""
        if kind is not None:
            self._media.append(media_block(data, kind, name))
        elif problem is None:
            self.add_text(heading + data.decode().removesuffix("\n").removesuffix("\r"))
        elif problem.is_binary:
            raise UsageError(f"{what} is neither text nor a picture, PDF, sound or video, so it cannot be sent")
        elif self._replace:
            self.add_text(heading + data.decode(errors="surrogateescape").removesuffix("\n").removesuffix("\r"))
        else:
            raise UsageError(
                f"{what} is not UTF-8: byte {problem.at + 1:,} is {data[problem.at]:#04x}; convert it with iconv, or"
                " let such bytes be replaced with --replace"
            )


def read_question(ctx: Context) -> Question:
    """Return what the command line asks: TEXT, stdin and files.

    Raises:
        UsageError: something of it cannot be sent.
    """
    args, word = ctx.args, ctx.word
    asked = Question(replace=args.replace)
    files = [*(args.with_file or ()), *(args.attach or ())]
    named = (word, *files).count(STDIN)
    if named > 1:
        raise UsageError("stdin is named twice, but can be read only once")
    if word == STDIN:
        _add_stdin(asked, required=True)
    elif word is not None:
        asked.add_text(word)
    if not named and not args.no_stdin:
        _add_what_is_piped(ctx, asked, beside=word is not None or bool(files))
    for path in args.with_file or ():
        _add_stdin(asked, required=True) if path == STDIN else asked.add_file(path)
    for path in args.attach or ():
        _add_stdin(asked, required=True, whole=True) if path == STDIN else asked.add_file(path, whole=True)
    return asked


def _add_stdin(asked: Question, *, required: bool, whole: bool = False) -> None:
    data = sys.stdin.buffer.read()
    if not data and not required:
        return
    if not data:
        raise UsageError("stdin was empty; there is nothing to ask. What was said last is answered with --no-stdin")
    asked.add_bytes(data, "stdin", whole=whole)


def _is_pipe() -> bool:
    """Return whether stdin is a pipe."""
    try:
        return stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode)
    except OSError:  # as below
        return False


def _add_what_is_piped(ctx: Context, asked: Question, *, beside: bool) -> None:
    """Add stdin, which nothing names: alone it is the question, beside something else it is sent with that."""
    if sys.stdin.isatty():
        return
    if not beside:
        # A program that was to write the question wrote nothing. With /dev/null, no question is meant.
        _add_stdin(asked, required=_is_pipe())
        return
    try:
        descriptor = sys.stdin.fileno()
    except OSError:  # a stream of a program that runs this in its own process
        return
    content = peek(descriptor, _MOMENT)
    if content is Content.NOTHING:
        return
    if content is Content.SILENT:
        ctx.out.warn(f"note: nothing came on stdin within {_MOMENT:g} s, so it is not sent; --with - waits for it")
    elif stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        ctx.out.warn("note: stdin is a socket, so it is not sent; --with - sends it")
    else:
        data = sys.stdin.buffer.read(_MOST + 1)
        if len(data) > _MOST:
            raise UsageError(f"stdin has more than {_MOST:,} bytes; to send all of it add --with -, or --no-stdin")
        asked.add_bytes(data, "stdin")
        ctx.out.warn(f"sent {len(data):,} bytes of stdin")
