"""The settings of the command, in ``reel.toml`` beside the daemon's ``reeld.toml``.

A missing file costs one attempt to open it: ``tomllib`` is imported only if there is a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.cli.line.arguments import SettingsError
from reel.cli.line.setting_checks import check_words
from reel.daemon.address import config_directory

if TYPE_CHECKING:
    from typing import Any

# Keeps commands from starting the daemon, as in cron jobs and tests.
NO_START = "REEL_NO_START"
# What becomes of keys and passwords in what is imported: they stay, and are named; a mark takes their place; they stay.
SECRETS = ("mark", "mask", "keep")
_COLOURS = ("auto", "always", "never")


class Settings(NamedTuple):
    """The settings, with their defaults."""

    # Whether the command prints hints, such as how to undo a change.
    hints: bool = True
    # When to use colours: auto, always or never.
    color: str = "auto"
    # The program that shows long output, in place of $PAGER; an empty text means no program.
    pager: str | None = None
    # The agent if none is named; $REEL_AGENT takes precedence.
    agent: str | None = None
    # Whether a command starts the daemon if none runs.
    start: bool = True
    # The provider, or the command, that answers in chat and ask if --via names none.
    via: str | None = None
    # Who answers: each a command line, or a server that is called; its format, its model, and fields of the body.
    providers: dict[str, dict[str, Any]] = {}  # noqa: RUF012 - as below
    # More names of commands, with arguments.
    aliases: dict[str, str] = {}  # noqa: RUF012 - a tuple's default, which nobody changes
    # What a million tokens of a model cost, by the model, in place of the price that reel knows.
    prices: dict[str, dict[str, float]] = {}  # noqa: RUF012 - as above
    # How many tokens the context of a model holds, by the model, in place of the size that reel knows.
    contexts: dict[str, int] = {}  # noqa: RUF012 - as above
    # Short names of models: each the name of one, or a provider and a model.
    models: dict[str, str] = {}  # noqa: RUF012 - as below
    # Prompts by name: each with a system prompt, a text, a model.
    templates: dict[str, dict[str, str]] = {}  # noqa: RUF012 - as below
    # Commands that carry out what a model calls, each with its command line and what the model is told of it.
    tools: dict[str, dict[str, Any]] = {}  # noqa: RUF012 - as below
    # How the histories of other tools are imported: the table [import].
    importing: dict[str, Any] = {}  # noqa: RUF012 - as below
    # What the server for agents does: the table [mcp].
    mcp: dict[str, bool] = {}  # noqa: RUF012 - as below

    @property
    def answering(self) -> str | None:
        """Who answers if the command line does not say: the provider, or the command, of ``via``, or the only one."""
        return self.via or (next(iter(self.providers)) if len(self.providers) == 1 else None)


def settings_file() -> str:
    """Return the path of the file, which need not exist."""
    return f"{config_directory()}/reel.toml"


def load() -> Settings:
    """Return the settings of the file, or the defaults if there is no file.

    A wrong value is refused rather than ignored: a typing error in ``start`` would start daemons that nobody wants.

    Raises:
        SettingsError: the file cannot be read, is not TOML, or has a setting that is wrong.
    """
    file = settings_file()
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}; correct it, or move it away") from error
    import tomllib  # noqa: PLC0415 - most have no file, and it would cost every command 5 ms

    try:
        with os.fdopen(descriptor, "rb") as opened:
            text = opened.read().decode("utf-8-sig")  # Windows editors begin a file with a BOM
            given = tomllib.loads(text)
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}; correct it, or move it away") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise SettingsError(f"{file}: {error}; correct it there") from error
    for name, value in given.items():
        problem = _CHECKS[name](value) if name in _CHECKS else f"there is no such setting{_suggestion(name)}"
        if problem is not None:
            from reel.cli.line.toml_lines import line_of  # noqa: PLC0415 - only for an error

            line = line_of(text, _path_of(problem, name, value))
            raise SettingsError(f"{file}{'' if line is None else f' line {line}'}: {name}: {problem}")
    return Settings(**{_FIELDS.get(name, name): value for name, value in given.items()})


def _path_of(problem: str, name: str, value: Any) -> list[str]:
    """Return the keys that lead to what a problem is about: it begins with those below the setting's own name."""
    path = [name]
    while isinstance(value, dict):
        key = next((key for key in value if problem.startswith((f"{key}.", f"{key}:"))), None)
        if key is None:
            break
        path.append(key)
        value, problem = value[key], problem[len(key) + 1 :]
    return path


def _suggestion(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only after a typing error

    close = get_close_matches(name, _CHECKS, n=1)
    return f" (did you mean {close[0]}?)" if close else f"; there are {', '.join(_CHECKS)}"


def _check_bool(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"write true or false, not {value!r}"


def _check_color(value: Any) -> str | None:
    return None if value in _COLOURS else f"write one of {', '.join(_COLOURS)}, not {value!r}"


def _check_agent(value: Any) -> str | None:
    from reel.base.ids import is_id, is_name  # noqa: PLC0415 - only if it is set

    if isinstance(value, str) and (is_name(value) or is_id(value)):
        return None
    return f"write the name of a conversation, not {value!r}"


def _check_providers(value: Any) -> str | None:
    from reel.cli.line.provider_settings import why_not_providers  # noqa: PLC0415 - only if there are providers

    return why_not_providers(value)


def _check_models(value: Any) -> str | None:
    if isinstance(value, dict) and all(isinstance(each, str) and each for each in value.values()):
        return None
    return f'write a table: [models], then lines such as fast = "claude/claude-haiku-4-5", not {value!r}'


def _check_templates(value: Any) -> str | None:
    from reel.cli.line.provider_settings import why_not_templates  # noqa: PLC0415 - only if there are some

    return why_not_templates(value)


def _check_tools(value: Any) -> str | None:
    from reel.cli.line.provider_settings import why_not_tools  # noqa: PLC0415 - only if there are some

    return why_not_tools(value)


def _check_aliases(value: Any) -> str | None:
    from shlex import split  # noqa: PLC0415 - only if there are aliases

    from reel.cli.line.table import command_names  # noqa: PLC0415 - only if there are aliases

    if not isinstance(value, dict):
        return f'write a table: [aliases], then lines such as last = "show --last 1", not {value!r}'
    commands = command_names()
    for name, line in value.items():
        if name in commands:
            return f"{name}: this is a command, which cannot be replaced; choose another name"
        if (problem := check_words(line)) is not None:
            return f"{name}: {problem}"
        if (split(line) or [""])[0] not in commands:
            return f'{name}: {line!r} does not begin with a command; write for example "show --last 1"'
    return None


def _check_prices(value: Any) -> str | None:
    expected = (
        "write lines such as [prices], then my-model = { input = 3, output = 15, cached = 0.3, cache_writes = 4 }"
    )
    if not isinstance(value, dict):
        return f"{expected}, not {value!r}"
    for model, price in value.items():
        if not isinstance(price, dict) or not {"input", "output"} <= price.keys():
            return f"{model}: {expected}, not {price!r}"
        for key, amount in price.items():
            if key not in ("input", "output", "cached", "cache_writes"):
                return f"{model}.{key}: there is no such setting; a price has input, output, cached and cache_writes"
            if type(amount) not in (int, float) or not 0 <= amount < float("inf"):
                return f"{model}.{key}: write what a million tokens cost, not {amount!r}"
    return None


def _check_contexts(value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"write lines such as [contexts], then my-model = 32768, not {value!r}"
    for model, size in value.items():
        if type(size) is not int or size < 1:
            return f"{model}: write how many tokens the context of the model holds, not {size!r}"
    return None


def _check_importing(value: Any) -> str | None:
    if not isinstance(value, dict):
        return f'write lines such as [import], then secrets = "mask", not {value!r}'
    for name, given in value.items():
        if name not in ("secrets", "originals"):
            return f"{name}: there is no such setting; there are secrets and originals"
        if name == "originals" and (problem := _check_bool(given)) is not None:
            return f"originals: {problem}"
        if name == "secrets" and given not in SECRETS:
            return f"secrets: write one of {', '.join(SECRETS)}, not {given!r}"
    return None


def _check_mcp(value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"write lines such as [mcp], then write = true, not {value!r}"
    for name, given in value.items():
        if name not in ("write", "import", "show_secrets"):
            return f"{name}: there is no such setting; there are write, import and show_secrets"
        if (problem := _check_bool(given)) is not None:
            return f"{name}: {problem}"
    return None


# The fields of settings whose names are Python's own words.
_FIELDS = {"import": "importing"}
_CHECKS: dict[str, Callable[[Any], str | None]] = {
    "hints": _check_bool,
    "color": _check_color,
    "pager": check_words,
    "agent": _check_agent,
    "start": _check_bool,
    "via": check_words,
    "providers": _check_providers,
    "aliases": _check_aliases,
    "prices": _check_prices,
    "contexts": _check_contexts,
    "models": _check_models,
    "templates": _check_templates,
    "tools": _check_tools,
    "import": _check_importing,
    "mcp": _check_mcp,
}
