"""A JSON schema that an answer must have: asked of the provider in its own words, and checked when it is there."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reel.base.strict_json import parse
from reel.cli.line.arguments import UsageError
from reel.cli.line.files import read_json

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


def read_schema(given: str) -> Any:
    """Return a schema, which is given as JSON or as a file.

    Raises:
        UsageError: it is neither.
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
    return next(_problems(value, schema, "$", schema), None)


def _problems(value: Any, schema: Any, path: str, root: Any) -> Iterator[str]:
    """Yield what is wrong with a value; keywords that models are not asked for are not looked at."""
    if schema is True or not isinstance(schema, Mapping):
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
        yield f"{path} is none of the values that are allowed"
    if "const" in schema and value != schema["const"]:
        yield f"{path} should be {schema['const']!r}"
    choices = schema.get("anyOf") or schema.get("oneOf") or ()
    if choices and all(next(_problems(value, choice, path, root), None) for choice in choices):
        yield f"{path} matches none of the alternatives"
    for part in schema.get("allOf", ()):
        yield from _problems(value, part, path, root)
    if isinstance(value, dict):
        yield from _of_object(value, schema, path, root)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _problems(item, schema.get("items", True), f"{path}[{index}]", root)


def _of_object(value: dict[str, Any], schema: Mapping[str, Any], path: str, root: Any) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name} is missing"
    for name, item in value.items():
        yield from _problems(item, known.get(name, schema.get("additionalProperties", True)), f"{path}.{name}", root)


def _resolved(target: str, root: Any) -> Any:
    found = root
    for name in target.removeprefix("#").strip("/").split("/"):
        found = found.get(name, True) if isinstance(found, Mapping) and name else found
    return found
