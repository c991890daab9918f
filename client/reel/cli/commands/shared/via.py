"""The user's own command that turns a request into a response: which one it is, and running it.

reel calls no provider itself. The command gets the body of the request on stdin, and writes the response to stdout,
whole or as an event stream, as curl does.
"""

import os
import subprocess
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from reel.cli.commands.shared.bodies import body_settings, format_of, only_tools
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.said.formats import Dialect, Format

_CHUNK = 1 << 16
# Seconds for a command to end after it was told to.
_ENDS_WITHIN = 2.0
# How many characters at the end of a command's stderr are shown.
_SHOWN = 2000
# The APIs whose requests say whether to stream; generateContent of Gemini's has another address for it.
_ASKED_TO_STREAM = ("openai-chat", "openai-responses", "anthropic", "gemini-interactions")


class Provider(NamedTuple):
    """A provider that answers.

    Args:
        command: a command line for the shell.
        format: the format that it speaks.
        extra: the fields to add to the body.
        dialect: the server that it speaks with, if the model's name does not tell.
        tools: the tools that the model has; ``None`` if it has those of the conversation.
    """

    command: str
    format: Format
    extra: dict[str, Any]
    dialect: Dialect | None = None
    tools: list[str] | None = None


def has_provider(ctx: Context) -> bool:
    """Return whether ``--via`` or ``reel.toml`` says which command answers."""
    return bool(ctx.args.via or ctx.settings.via or len(ctx.settings.providers) == 1)


def provider_of(ctx: Context) -> Provider:
    """Return the provider of ``--via``, else of ``via`` in ``reel.toml``: a name from that file, or a command.

    Raises:
        UsageError: nothing names a command or its format.
    """
    via = ctx.args.via or ctx.settings.via
    known = ctx.settings.providers
    if via is None and len(known) == 1:
        via = next(iter(known))
    if not via:
        names = f" ({', '.join(known)})" if known else ""
        raise UsageError(
            f"nothing says which command answers; name it with --via, or set via in reel.toml{names}"
            "; an example: reel help settings"
        )
    named = known.get(via, {})
    ctx.args.format = ctx.args.format or named.get("format")
    spoken = format_of(ctx)
    streaming = {"stream": True} if spoken in _ASKED_TO_STREAM else {}
    extra = {**streaming, **named.get("set", {}), **body_settings(ctx.args.set or (), ctx.args.tools)}
    dialect = ctx.args.dialect or named.get("dialect")
    return Provider(named.get("command", via), spoken, extra, dialect, only_tools(ctx))


class Run:
    """A run of a command, and its stdout as it arrives.

    Args:
        command: a command line for the shell.
        body: what it gets on stdin.
    """

    def __init__(self, command: str, body: str) -> None:
        self._errors: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed by close()
        # A file in place of a pipe: we need not write to it while we read.
        with TemporaryFile() as stdin:
            stdin.write(body.encode())
            stdin.seek(0)
            self._process = subprocess.Popen(  # noqa: S602 - the user's own command line
                command, shell=True, stdin=stdin, stdout=subprocess.PIPE, stderr=self._errors
            )

    def __iter__(self) -> Iterator[bytes]:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        while piece := os.read(self._process.stdout.fileno(), _CHUNK):
            yield piece

    def close(self) -> tuple[int, str]:
        """End the command if it is still running; return its status, and the end of its stderr."""
        assert self._process.stdout is not None  # noqa: S101 - as above
        self._process.stdout.close()
        status = self._end()
        self._errors.seek(0)
        errors = self._errors.read().decode(errors="replace").strip()
        self._errors.close()
        return status, errors[-_SHOWN:]

    def _end(self) -> int:
        for insist in (self._process.terminate, self._process.kill):
            try:
                return self._process.wait(_ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                insist()
        return self._process.wait()
