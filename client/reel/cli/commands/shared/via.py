"""Who answers: a provider of ``reel.toml``, or a command that turns a request into a response.

A provider is either a command of the user's own, which gets the body of the request on stdin and writes the response to
stdout, whole or as an event stream, as curl does; or a server that is called over HTTP.
"""

from __future__ import annotations

import os

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.bodies import body_settings, format_of, only_tools
from reel.cli.commands.shared.provider import Provider
from reel.cli.line.arguments import UsageError
from reel.cli.line.servers import SERVERS

if TYPE_CHECKING:
    from reel.cli.line.context import Context


# The APIs whose requests say whether to stream; generateContent of Gemini's has another address for it.
_ASKED_TO_STREAM = ("openai-chat", "openai-responses", "anthropic", "gemini-interactions")
# For how long the common part of two requests is cached if nothing else is said: where only the caller can ask for it,
# going on with a long conversation costs a tenth.
_CACHED = {"anthropic": "5m"}


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
        from reel.cli.commands.shared.http_call import require_callable  # noqa: PLC0415 - a command does without

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
