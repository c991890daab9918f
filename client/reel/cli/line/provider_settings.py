"""What ``reel.toml`` may say of providers, templates and tools."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.base.values import why_not_plain
from reel.cli.line.servers import SERVERS
from reel.cli.line.setting_checks import check_words
from reel.said.formats import ANSWERING_FORMATS, DIALECTS

if TYPE_CHECKING:
    from typing import Any

# How deep the fields of a request may nest.
_NESTED = 10
_EXPECTED = 'write a table: [providers.NAME], then format = "..." and model = "...", or command = "..."'
_OF_COMMANDS = ("command", "format", "dialect", "set", "model", "cache", "budget")
_OF_SERVERS = ("format", "dialect", "set", "url", "key", "model", "cache", "budget", "command")
_CACHES = ("5m", "1h", "off")
_TEMPLATE_KEYS = ("system", "text", "model", "via", "schema")
_TOOL_KEYS = ("command", "description", "parameters", "ask")


def why_not_providers(value: Any) -> str | None:
    """Return what is wrong with the table of providers."""
    if not isinstance(value, dict):
        return f"{_EXPECTED}, not {value!r}"
    for name, provider in value.items():
        if not isinstance(provider, dict):
            return f"{name}: {_EXPECTED}, not {provider!r}"
        if (problem := _why_not_provider(provider)) is not None:
            return f"{name}{problem}"
    return None


def _why_not_provider(provider: dict[str, Any]) -> str | None:
    spoken, has_command = provider.get("format"), "command" in provider
    if not has_command and spoken is None:
        return f": {_EXPECTED}, not {provider!r}"
    if has_command and (problem := check_words(provider["command"])) is not None:
        return f".command: {problem}"
    if spoken not in ANSWERING_FORMATS:
        return f".format: write one of {', '.join(ANSWERING_FORMATS)}, not {spoken!r}"
    keys = _OF_COMMANDS if has_command else _OF_SERVERS
    for key in provider.keys() - {*keys}:
        what = "a provider with a command has" if has_command else "a provider has"
        return f".{key}: there is no such setting; {what} {', '.join(keys[:-1])} and {keys[-1]}"
    if not has_command and spoken not in SERVERS:
        return f": {spoken} needs a command; reel itself calls {', '.join(SERVERS)}"
    for key in ("url", "key", "model"):
        if key in provider and (not isinstance(provider[key], str) or not provider[key]):
            return f".{key}: write a text, not {provider[key]!r}"
    if provider.get("dialect") not in (None, *DIALECTS):
        return f".dialect: write one of {', '.join(DIALECTS)}, not {provider['dialect']!r}"
    if provider.get("cache") not in (None, *_CACHES):
        return f".cache: write one of {', '.join(_CACHES)}, not {provider['cache']!r}"
    if type(budget := provider.get("budget", 1)) is not int or budget < 1:
        return f".budget: write a number of tokens, not {budget!r}"
    if (problem := _why_not_fields(provider.get("set", {}))) is not None:
        return f".set: {problem}"
    return None


def _why_not_fields(value: Any) -> str | None:
    if not isinstance(value, dict):
        return f'write a table, such as {{ model = "NAME", max_tokens = 1024 }}, not {value!r}'
    problem = why_not_plain(value, _NESTED)
    return None if problem is None else f"{problem} cannot be part of a request"


def why_not_templates(value: Any) -> str | None:
    """Return what is wrong with the table of templates."""
    expected = 'write a table: [templates.NAME], then system = "..." or text = "..."'
    if not isinstance(value, dict):
        return f"{expected}, not {value!r}"
    for name, template in value.items():
        if not isinstance(template, dict):
            return f"{name}: {expected}, not {template!r}"
        for key, text in template.items():
            if key not in _TEMPLATE_KEYS:
                return f"{name}.{key}: there is no such setting; a template has {', '.join(_TEMPLATE_KEYS)}"
            if not isinstance(text, str):
                return f"{name}.{key}: write a text, not {text!r}"
    return None


def why_not_tools(value: Any) -> str | None:
    """Return what is wrong with the table of tools."""
    expected = 'write a table: [tools.NAME], then command = "..." and description = "..."'
    if not isinstance(value, dict):
        return f"{expected}, not {value!r}"
    for name, tool in value.items():
        if not isinstance(tool, dict) or "command" not in tool:
            return f"{name}: {expected}, not {tool!r}"
        if (problem := check_words(tool["command"])) is not None:
            return f"{name}.command: {problem}"
        if not isinstance(tool.get("description", ""), str):
            return f"{name}.description: write a text, not {tool['description']!r}"
        if (problem := _why_not_fields(tool.get("parameters", {}))) is not None:
            return f"{name}.parameters: {problem}"
        if not isinstance(tool.get("ask", True), bool):
            return f"{name}.ask: write true or false, not {tool['ask']!r}"
        for key in tool.keys() - {*_TOOL_KEYS}:
            return f"{name}.{key}: there is no such setting; a tool has {', '.join(_TOOL_KEYS)}"
    return None
