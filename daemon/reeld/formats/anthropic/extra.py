"""What stands beside the history in a request to Anthropic, where the two have to do with each other."""

from collections.abc import Callable, Iterator
from typing import Any

from reeld.formats.anthropic.blocks import MARK, PROVIDER, own_keys
from reeld.formats.format import Prompt, Settings
from reeld.formats.model import Json
from reeld.formats.prompt import kept_pieces

_MARKS = 4


def settings(extra: Json, prompt: Prompt | None) -> Settings:
    """Count the cache marks that are left for the history; a mark at the top takes one as well."""
    prompted = [own_keys(piece.block, "text") for piece in kept_pieces(PROVIDER, prompt)] if prompt else []
    marked = sum(found.get(MARK) is not None for found in (extra, *prompted, *_tools(extra)))
    return Settings(max(_MARKS - marked, 0), _thinking(extra) in ("enabled", "adaptive"))


def rename(extra: Json, sent: Callable[[str], str]) -> Json:
    """Put the names of tools through a function."""
    found = dict(extra)
    if isinstance(extra.get("tools"), list):
        found["tools"] = [_renamed(tool, sent) for tool in extra["tools"]]
    if "tool_choice" in extra:
        found["tool_choice"] = _renamed(extra["tool_choice"], sent)
    return found


def _renamed(named: Any, sent: Callable[[str], str]) -> Any:
    if isinstance(named, dict) and isinstance(named.get("name"), str):
        return {**named, "name": sent(named["name"])}
    return named


def objection(extra: Json, loop: tuple[bool, bool] | None) -> str | None:
    """A tool loop that begins without thinking cannot go on with it enabled."""
    if _thinking(extra) == "enabled" and loop is not None and not any(loop):
        return (
            "thinking: it cannot be enabled in the middle of a tool loop that began without (another provider's, or "
            'with thinking off); use {"type": "adaptive"}, or leave it out until the loop is over'
        )
    return None


def _thinking(extra: Json) -> Any:
    found = extra.get("thinking")
    return found.get("type") if isinstance(found, dict) else None


def _tools(extra: Json) -> Iterator[Json]:
    tools = extra.get("tools")
    return (tool for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else iter(())
