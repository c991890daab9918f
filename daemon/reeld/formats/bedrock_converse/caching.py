"""Bedrock's cache points, blocks between the others: selecting those to send, and placing new ones (rule B10)."""

from typing import Any

from reel.base.strict_json import Json
from reeld.formats.bedrock_converse.models import caches, is_claude
from reeld.formats.bedrock_converse.write import CACHE_POINT

# The cache points of a body.
MOST = 4
# Blocks that a cache point may follow: models refuse it after reasoning and after a document.
_CACHED = ("text", "toolUse", "toolResult", "image")


def count(content: Any) -> int:
    """Return the number of cache points of some content."""
    return sum(map(_is_cache_point, content)) if type(content) is list else 0


def own(fields: Json) -> int:
    """Return the number of cache points of a body's tools."""
    config = fields.get("toolConfig")
    return count(config.get("tools") if type(config) is dict else None)


def mark_top(fields: Json, ttl: str, model: str | None) -> Json:
    """Return the body without its history with a cache point after the tools, and one after the prompt."""
    if not caches(model):
        return fields
    marked = dict(fields)
    config, system = fields.get("toolConfig"), fields.get("system")
    if is_claude(model) and type(config) is dict and type(config.get("tools")) is list:
        marked["toolConfig"] = {**config, "tools": [*config["tools"], _cache_point(ttl, model)]}
    if system:
        marked["system"] = [*system, _cache_point(ttl, model)]
    return marked


def mark_end(item: Json, ttl: str, model: str | None) -> Json | None:
    """Return a message with a cache point at its end; ``None`` if it, or the model, can have none."""
    content = item["content"]
    places = [index for index, block in enumerate(content, 1) if any(kind in block for kind in _CACHED)]
    if not places or not caches(model):
        return None
    return {**item, "content": [*content[: places[-1]], _cache_point(ttl, model), *content[places[-1] :]]}


def _cache_point(ttl: str, model: str | None) -> Json:
    """Return a cache point; only Claude accepts a time to live other than five minutes."""
    return {CACHE_POINT: {"type": "default", **({"ttl": ttl} if is_claude(model) and ttl != "5m" else {})}}


def _is_cache_point(block: Any) -> bool:
    return type(block) is dict and CACHE_POINT in block


def newest(content: list[Any], number: int) -> list[Any]:
    """Return content with only its newest cache points, ``number`` of them."""
    old = count(content) - number
    kept = []
    for block in content:
        if _is_cache_point(block) and old > 0:
            old -= 1
        else:
            kept.append(block)
    return kept
