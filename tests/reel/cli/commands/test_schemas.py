"""JSON schemas of answers: whether one is a schema, and whether an answer has it."""

from pathlib import Path
from typing import Any

import pytest

from reel.cli.commands.shared.schema import why_not_answer
from tests.reel.cli.conftest import Reel


@pytest.mark.parametrize(
    ("text", "schema", "problem"),
    [
        ("four", {}, "it is not JSON: "),
        ("true", {"type": "integer"}, "$ should be integer"),
        ('"c"', {"enum": ["a", True]}, '$ should be one of ["a",true]'),
        ("1", {"const": None}, "$ should be null"),
        ('{"a": [1, "x"]}', {"properties": {"a": {"items": {"type": "number"}}}}, "$.a[1] should be number"),
        ("{}", {"required": ["a"]}, "$.a is missing"),
        ('{"a": 1}', {"additionalProperties": False}, "$.a may not be there"),
        ("[1, 2]", {"prefixItems": [{}], "items": False}, "$[1] may not be there"),
        ("1", {"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, "$ should be null"),
        ("1", {"anyOf": [{"$ref": "#"}]}, "the schema refers to itself without an end"),
    ],
)
def test_an_answer_without_its_schema(text: str, schema: Any, problem: str) -> None:
    """The problem names the value, and what it should be, as JSON has it."""
    found = why_not_answer(text, schema)
    assert found is not None
    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("3.0", {"type": ["null", "integer"]}),
        ('{"x-a": 1}', {"patternProperties": {"^x-": {}}, "additionalProperties": False}),
        ("[1]", {"prefixItems": [{"type": "integer"}], "items": False}),
        ('{"a": {"a": {}}}', {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False}),
        ("[]", {"$ref": "#/required", "required": []}),
    ],
)
def test_an_answer_with_its_schema(text: str, schema: Any) -> None:
    """What the keywords that are looked at allow has the schema; others are not looked at."""
    assert None is why_not_answer(text, schema)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ('{"type": 5}', "$.type should be a type, or a list of types, not 5"),
        ('{"required": "a"}', '$.required should be a list, not "a"'),
        ('{"required": [1]}', "$.required should have texts only, not 1"),
        ('{"properties": ["a"]}', '$.properties should be an object, not ["a"]'),
        ('{"properties": {"a": "string"}}', '$.properties.a should be a schema, not "string"'),
        ('{"items": {"anyOf": [{"enum": 1}]}}', "$.items.anyOf[0].enum should be a list, not 1"),
    ],
)
def test_what_is_no_schema(reel: Reel, tmp_path: Path, name: str, schema: str, problem: str) -> None:
    """It is refused before anybody is asked, and before the question is added."""
    asked = tmp_path / "asked"
    ran = reel(
        "ask", name, "2+2?", "--create", "--via", f"touch {asked}", "--format", "openai-chat", "--schema", schema
    )

    assert (2, True) == (ran.status, f"--schema: {problem}" in ran.err)
    assert not asked.exists()
