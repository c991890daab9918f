"""Who answers: a provider of ``reel.toml``, or a command that turns a request into a response.

A provider is either a command of the user's own, which gets the body of the request on stdin and writes the response to
stdout, whole or as an event stream, as curl does; or a server that is called over HTTP.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import Protocol

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.cli.commands.shared.bodies import body_settings, format_of, only_tools
from reel.cli.line.arguments import UsageError
from reel.cli.line.servers import SERVERS

if TYPE_CHECKING:
    from typing import IO, Any, Literal

    from reel.cli.line.context import Context
    from reel.replies import Rendered
    from reel.said.formats import Dialect, Format


class Running(Protocol):
    """An answer that arrives."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield its pieces."""
        ...

    def close(self) -> tuple[int, str]:
        """End it; return the exit status, and what went wrong."""
        ...


_CHUNK = 1 << 16
# Seconds for a command to end after it was told to.
_ENDS_WITHIN = 2.0
# How many characters at the end of a command's stderr are shown.
_SHOWN = 2000
# The APIs whose requests say whether to stream; generateContent of Gemini's has another address for it.
_ASKED_TO_STREAM = ("openai-chat", "openai-responses", "anthropic", "gemini-interactions")
# For how long the common part of two requests is cached if nothing else is said: where only the caller can ask for it,
# going on with a long conversation costs a tenth.
_CACHED = {"anthropic": "5m"}


class Provider(NamedTuple):
    """A provider that answers.

    Args:
        name: what to call it in a message.
        format: the format that it speaks.
        extra: the fields to add to the body.
        command: a command line for the shell; ``None`` if a server is called.
        url: the address of the server; ``None`` for the format's own.
        key: the variable that has the key; ``None`` for the format's own.
        dialect: the server that it speaks with, if the model's name does not tell.
        tools: the tools that the model has; ``None`` if it has those of the conversation.
        budget: the most tokens of the history.
        cache: for how long the provider is to keep the common part of requests.
    """

    name: str
    format: Format
    extra: dict[str, Any]
    command: str | None = None
    url: str | None = None
    key: str | None = None
    dialect: Dialect | None = None
    tools: list[str] | None = None
    budget: int | None = None
    cache: Literal["5m", "1h"] | None = None

    @property
    def model(self) -> str | None:
        """The model that is asked."""
        model = self.extra.get("model")
        return model if isinstance(model, str) else None

    def run(self, rendered: Rendered) -> Running:
        """Send a request."""
        if self.command is not None:
            return Run(self.command, rendered.body)
        from reel.cli.commands.shared.http_call import HttpCall  # noqa: PLC0415 - a command does without

        return HttpCall(self, rendered)


def has_provider(ctx: Context) -> bool:
    """Return whether ``--via`` or ``reel.toml`` says who answers."""
    return bool(ctx.args.via or ctx.settings.answering)


def provider_of(ctx: Context, via: str | None = None, model: str | None = None) -> Provider:
    """Return the provider of ``--via`` and the model of ``-m``, else those of ``reel.toml``.

    Args:
        ctx: the command's context.
        via: another provider than that of the command line.
        model: another model, or its alias.

    Raises:
        UsageError: nothing names a command or its format, or there is no such provider.
    """
    args, known, is_other = ctx.args, ctx.settings.providers, via is not None
    wanted, of_model = _model(ctx, model or args.model)
    via = via or of_model or args.via or ctx.settings.answering
    if not via:
        names = f" ({', '.join(known)})" if known else ""
        raise UsageError(
            f"nothing says which command answers; name it with --via, or set via in reel.toml{names}"
            "; reel setup writes that file; an example: reel help settings"
        )
    if via not in known:
        _require_command(ctx, via)
    named = known.get(via, {"command": via})
    is_other = is_other or (of_model is not None and args.via != of_model)
    spoken = named["format"] if is_other and "format" in named else format_of(ctx, named.get("format"))
    streaming = {"stream": True} if spoken in _ASKED_TO_STREAM else {}
    if "command" not in named and spoken not in SERVERS:
        raise UsageError(f"{via}: {spoken} needs a command; reel itself calls {', '.join(SERVERS)}")
    extra = {
        **streaming,
        **({} if "command" in named else SERVERS[spoken].fields),
        **({"model": named["model"]} if "model" in named else {}),
        **named.get("set", {}),
        **({"model": wanted} if wanted else {}),
        **body_settings(args.set or (), args.tools),
    }
    cache = args.cache or named.get("cache", _CACHED.get(spoken))
    made = Provider(
        name=named.get("command") or via,
        format=spoken,
        extra=extra,
        command=named.get("command"),
        url=named.get("url"),
        key=named.get("key"),
        dialect=args.dialect or named.get("dialect"),
        tools=only_tools(ctx),
        budget=args.budget or named.get("budget"),
        cache=None if cache == "off" else cache,
    )
    if made.command is None:
        from reel.cli.commands.shared.http_call import require_callable  # noqa: PLC0415 - as above

        require_callable(made)
    return made


def _model(ctx: Context, name: str | None) -> tuple[str | None, str | None]:
    """Return the model that a name or an alias means, and the provider that it names, as in ``claude/opus``."""
    if name is None:
        return None, None
    name = ctx.settings.models.get(name, name)
    provider, slash, model = name.partition("/")
    return (model, provider) if slash and provider in ctx.settings.providers else (name, None)


def _require_command(ctx: Context, via: str) -> None:
    """Refuse a word that is neither a provider nor a command.

    Raises:
        UsageError: so it is probably a mistyped provider.
    """
    from shlex import split  # noqa: PLC0415 - only for a command
    from shutil import which  # noqa: PLC0415 - as above

    try:
        words = split(via)
    except ValueError as error:
        raise UsageError(f"--via: {via!r} is not a command line: {error}") from None
    if len(words) != 1 or os.sep in via or which(via) is not None:
        return
    from reel.cli.line.suggestions import like  # noqa: PLC0415 - only after a typing error

    known = ctx.settings.providers
    there = f"; there are the providers {', '.join(known)}" if known else "; reel.toml names no provider"
    raise UsageError(f"there is no provider and no command {via!r}{like(via, known) or there}")


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
