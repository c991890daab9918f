"""What the two APIs of OpenAI have in common, and those that were made like them."""

from typing import Any

from reel.base.strict_json import Json
from reel.providers.json_values import arguments_as_object
from reeld.formats.tool_names import ToolNames

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
# The key of a content part with a cache breakpoint.
CACHE_BREAKPOINT = "prompt_cache_breakpoint"
TOOL_NAMES = ToolNames(
    frozenset({"tool_choice", "function_call", "function", "custom", "allowed_tools"}),
    frozenset({"tools", "functions"}),
)


def filename(block: Json) -> str:
    """Return the name of a file, made up if it has none: these APIs require one and look at its extension."""
    name: str | None = block.get("name")
    return name or ("file.pdf" if block["mime_type"] == "application/pdf" else "file")


def custom_tool_input(arguments: str) -> str:
    """Return the input of a custom tool, which is a text: it is stored in the arguments as ``input``."""
    given: Any = arguments_as_object(arguments).get("input")
    return given if type(given) is str else arguments
