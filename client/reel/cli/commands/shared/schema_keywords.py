"""Whether a JSON schema is one: its keywords have values of the right type. It is known before anything is asked."""

from collections.abc import Iterator
from typing import Any

from reel.cli.screen.output import to_json
from reel.reading.wording import cut

# What the keywords have to be that are looked at in an answer.
_KEYWORDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "type": ((str, list), "a type, or a list of types"),
    "$ref": (str, "a text"),
    "properties": (dict, "an object"),
    "patternProperties": (dict, "an object"),
    "$defs": (dict, "an object"),
    "definitions": (dict, "an object"),
    **dict.fromkeys(("enum", "required", "prefixItems", "anyOf", "oneOf", "allOf"), (list, "a list")),
}
# The keywords with a schema, with schemas by name, and with a list of schemas.
_ONE, _NAMED = ("items", "additionalProperties"), ("properties", "patternProperties", "$defs", "definitions")
_SEVERAL = ("prefixItems", "anyOf", "oneOf", "allOf")
# How much of a value a message shows, in columns.
_SHOWN = 200


def why_not_schema(schema: Any) -> str | None:
    """Return what is wrong with a schema, as the path of a keyword and what it should be; ``None`` if nothing is."""
    try:
        return next(_problems(schema, "$"), None)
    except RecursionError:
        return "it is nested too deeply"


def _problems(schema: Any, path: str) -> Iterator[str]:
    """Yield which keywords of a schema have a value of the wrong type."""
    if not isinstance(schema, dict):
        if not isinstance(schema, bool):
            yield f"{path} should be a schema, not {cut(to_json(schema), _SHOWN)}"
        return
    for keyword, (kind, wanted) in _KEYWORDS.items():
        if keyword in schema and not isinstance(schema[keyword], kind):
            yield f"{path}.{keyword} should be {wanted}, not {cut(to_json(schema[keyword]), _SHOWN)}"
            return
    for keyword in ("type", "required"):
        for item in schema.get(keyword, ()):
            if not isinstance(item, str):
                yield f"{path}.{keyword} should have texts only, not {cut(to_json(item), _SHOWN)}"
    for keyword in filter(schema.__contains__, _ONE):
        yield from _problems(schema[keyword], f"{path}.{keyword}")
    for keyword in filter(schema.__contains__, _NAMED):
        for name, part in schema[keyword].items():
            yield from _problems(part, f"{path}.{keyword}.{name}")
    for keyword in filter(schema.__contains__, _SEVERAL):
        for index, part in enumerate(schema[keyword]):
            yield from _problems(part, f"{path}.{keyword}[{index}]")
