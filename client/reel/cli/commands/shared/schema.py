"""A JSON schema that an answer must have: asked of the provider in its own words, and checked when it is there."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reel.base.strict_json import parse
from reel.cli.commands.shared.schema_keywords import why_not_schema
from reel.cli.line.arguments import UsageError
from reel.cli.line.files import read_json
from reel.cli.screen.output import to_json
from reel.reading.wording import cut

_NAME = "answer"
# How each API is asked for an answer in JSON.
_FIELDS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "openai-chat": lambda schema: {
        "response_format": {"type": "json_schema", "json_schema": {"name": _NAME, "schema": schema}}
    },
    "openai-responses": lambda schema: {"text": {"format": {"type": "json_schema", "name": _NAME, "schema": schema}}},
    "anthropic": lambda schema: {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
    "gemini": lambda schema: {
        "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}
    },
    "ollama": lambda schema: {"format": schema},
}
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value == int(value),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
# How much of what is allowed a message shows, in columns.
_SHOWN = 200


def read_schema(given: str) -> Any:
    """Return a schema, which is given as JSON or as a file.

    Raises:
        UsageError: it is neither, or no schema.
    """
    if not given.lstrip().startswith("{"):
        schema = read_json(given)
    else:
        try:
            schema = parse(given)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"--schema is not valid JSON: {error}") from None
    if not isinstance(schema, dict):
        raise UsageError(f"--schema: {given} is no JSON object")
    if (problem := why_not_schema(schema)) is not None:
        raise UsageError(f"--schema: {problem}")
    return schema


def schema_fields(spoken: str, schema: Any) -> dict[str, Any]:
    """Return the fields of a body that ask for an answer with a schema.

    Raises:
        UsageError: requests of this format have none.
    """
    if spoken not in _FIELDS:
        raise UsageError(f"--schema: {spoken} has no field for it; {', '.join(_FIELDS)} have")
    return _FIELDS[spoken](schema)


def why_not_answer(text: str, schema: Any) -> str | None:
    """Return why an answer does not have a schema, as the path of a value and what is wrong; ``None`` if it has it."""
    try:
        value = parse(text)
    except (ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"
    try:
        return next(_problems(value, schema, "$", schema), None)
    except RecursionError:
        return "the schema refers to itself without an end"


def _problems(value: Any, schema: Any, path: str, root: Any) -> Iterator[str]:
    """Yield what is wrong with a value; keywords that models are not asked for are not looked at."""
    if not isinstance(schema, Mapping):
        if schema is False:
            yield f"{path} may not be there"
        return
    if isinstance(target := schema.get("$ref"), str):
        yield from _problems(value, _resolved(target, root), path, root)
    kinds = schema.get("type", ())
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_TYPES[kind](value) for kind in kinds if kind in _TYPES):
        yield f"{path} should be {' or '.join(kinds)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} should be one of {cut(to_json(schema['enum']), _SHOWN)}"
    if "const" in schema and value != schema["const"]:
        yield f"{path} should be {cut(to_json(schema['const']), _SHOWN)}"
    choices = schema.get("anyOf") or schema.get("oneOf") or ()
    if choices and all(next(_problems(value, choice, path, root), None) for choice in choices):
        yield f"{path} matches none of the alternatives"
    for part in schema.get("allOf", ()):
        yield from _problems(value, part, path, root)
    if isinstance(value, dict):
        yield from _of_object(value, schema, path, root)
    elif isinstance(value, list):
        # The items that "prefixItems" describes are not looked at, as its keyword is not.
        first = len(schema.get("prefixItems", ()))
        for index, item in enumerate(value[first:], first):
            yield from _problems(item, schema.get("items", True), f"{path}[{index}]", root)


def _of_object(value: dict[str, Any], schema: Mapping[str, Any], path: str, root: Any) -> Iterator[str]:
    known = schema.get("properties", {})
    # A field that "patternProperties" may describe is not looked at.
    other = True if "patternProperties" in schema else schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name} is missing"
    for name, item in value.items():
        yield from _problems(item, known.get(name, other), f"{path}.{name}", root)


def _resolved(target: str, root: Any) -> Any:
    found = root
    for name in target.removeprefix("#").strip("/").split("/"):
        found = found.get(name, True) if isinstance(found, Mapping) and name else found
    return found
