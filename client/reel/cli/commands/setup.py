"""The command ``setup``: write into ``reel.toml`` who can answer here."""

import os
from collections.abc import Iterable
from shutil import which
from typing import Any
from urllib.parse import urlsplit

from reel.cli.commands.shared.found_servers import FoundServer, can_answer, look_around, named_server
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.line.settings import Settings, load, settings_file
from reel.cli.line.settings_text import read, replace
from reel.cli.line.toml_lines import line_of

_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def setup(ctx: Context) -> int:
    """Look for keys and servers, and write a provider for each."""
    args, settings = ctx.args, load()
    name = ctx.words[0] if ctx.words else None
    _require_name(name)
    if args.url:
        _require_http(args.url)
        found = [named_server(name or "server", args.url, args.format or "openai-chat", args.key, args.model)]
    else:
        with ctx.out.waiting("looking for servers"):
            around = look_around(os.environ)
        found = [server for server in around if name in (None, server.name)]
        if around and not found:
            ctx.out.warn(f"no server is called {name}; found: {', '.join(server.name for server in around)}")
            return REFUSED
    if args.url and (problem := _why_not_changed(settings, found[0])) is not None:
        ctx.out.warn(problem)
        return REFUSED
    new = [server for server in found if server.name not in settings.providers]
    if ctx.out.as_json:
        ctx.out.documents([server.as_map() for server in found])
    for server in found:
        if not ctx.out.as_json and not args.dry_run:
            there = "" if server in new else "; reel.toml has it already"
            ctx.out.line((server.name, "bold"), f"  {server.about}{there}")
    if not found:
        ctx.out.warn(
            "no key and no server was found; set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or"
            " OPENROUTER_API_KEY, start a server such as Ollama, or name one with: reel setup NAME --url URL"
        )
        return REFUSED
    text = _changed(read(settings_file()), settings, new)
    if args.dry_run:
        ctx.out.lines([[line] for line in text.splitlines()])
    elif new:
        replace(settings_file(), text)
        if (problem := _why_no_answer(load())) is None:
            ctx.out.hint(f"written to {settings_file()}; now: {ctx.command('ask', 'What is 2+2?')}")
        else:
            ctx.out.warn(f"written to {settings_file()}; {problem}")
    return OK


def _why_no_answer(settings: Settings) -> str | None:
    """Return why nobody would answer now; ``None`` if somebody would."""
    name = settings.answering
    if name is None:
        return "no provider of it can be reached, or its key is not set; so via is not set"
    if name in settings.providers:
        return None if can_answer(settings.providers[name]) else f"{name} cannot be reached, or its key is not set"
    # A line of several words is the shell's business.
    if len(name.split()) != 1 or os.sep in name or which(name) is not None:
        return None
    return f"via is {name}, but there is no such provider or command"


def _require_name(name: str | None) -> None:
    if name is not None and not _NAME_LETTERS.issuperset(name):
        raise UsageError(f"{name!r} is not a name of a provider: letters, digits, - and _ only")


def _require_http(url: str) -> None:
    if "://" in url and urlsplit(url).scheme not in ("http", "https"):
        raise UsageError(f"--url {url!r} is no address of a server; it begins with http:// or https://")


def _why_not_changed(settings: Settings, server: FoundServer) -> str | None:
    """Return that a name is taken by another address, and where to change it; ``None`` if it is not."""
    there = settings.providers.get(server.name)
    if there is None or str(there.get("url", "")).rstrip("/") == server.url:
        return None
    line = line_of(read(settings_file()), ["providers", server.name])
    return (
        f"{server.name} is there already with {_address(there)}, and was not changed;"
        f" to change it, edit line {line} of {settings_file()}"
    )


def _address(provider: dict[str, Any]) -> str:
    """Return where a configured provider is, in words."""
    return next((f"the {key} {provider[key]}" for key in ("url", "command") if key in provider), "no url")


def _changed(text: str, settings: Settings, new: Iterable[FoundServer]) -> str:
    """Return the settings with more providers; the first one that can, answers if nothing says who does."""
    servers = list(new)
    tables = "\n".join(server.as_toml() for server in servers)
    parts = [text.strip("\n"), tables.strip("\n")]
    if settings.via is None and servers and len(settings.providers) + len(servers) > 1:
        every = {**settings.providers, **{server.name: server.as_map() for server in servers}}
        if (first := next((name for name, provider in every.items() if can_answer(provider)), None)) is not None:
            # Before all tables, where it belongs to none.
            parts.insert(0, f'via = "{first}"')
    return "\n\n".join(filter(None, parts)) + "\n"
