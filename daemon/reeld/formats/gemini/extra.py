"""What stands beside the history in a request to Gemini; the model is in the URL."""

from collections.abc import Callable
from typing import Any

from reeld.formats.model import Json


def rename(extra: Json, sent: Callable[[str], str]) -> Json:
    """Put the names of functions through a function, and leave out the model."""
    found = {key: value for key, value in extra.items() if key != "model"}
    if isinstance(found.get("tools"), list):
        found["tools"] = [_tool(tool, sent) for tool in found["tools"]]
    for key in ("toolConfig", "tool_config"):
        if isinstance(found.get(key), dict):
            found[key] = _config(found[key], sent)
    return found


def _tool(tool: Any, sent: Callable[[str], str]) -> Any:
    if not isinstance(tool, dict):
        return tool
    found = dict(tool)
    for key in ("functionDeclarations", "function_declarations"):
        if isinstance(found.get(key), list):
            found[key] = [_named(function, sent) for function in found[key]]
    return found


def _named(function: Any, sent: Callable[[str], str]) -> Any:
    if isinstance(function, dict) and isinstance(function.get("name"), str):
        return {**function, "name": sent(function["name"])}
    return function


def _config(config: Json, sent: Callable[[str], str]) -> Json:
    found = dict(config)
    for key in ("functionCallingConfig", "function_calling_config"):
        calling = found.get(key)
        if isinstance(calling, dict):
            found[key] = {**calling, **_allowed(calling, sent)}
    return found


def _allowed(calling: Json, sent: Callable[[str], str]) -> Json:
    return {
        key: [sent(name) if isinstance(name, str) else name for name in calling[key]]
        for key in ("allowedFunctionNames", "allowed_function_names")
        if isinstance(calling.get(key), list)
    }
