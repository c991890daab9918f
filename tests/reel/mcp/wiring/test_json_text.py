"""Changing one value in a text of JSON with comments."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.mcp.wiring.json_text import (
    NotChangeable,
    parse,
    with_element,
    with_value,
    without_elements,
    without_value,
)

ENTRY = {"command": "/bin/reel", "args": ["mcp"]}
PATH = ("mcpServers", "reel")
COMMENTED = """\
// My settings
{
  "theme": "dark", // as at night
  /* the servers */
  "mcpServers": {
    "other": {"command": "x", "url": "http://a//b"} // keep this
  },
  "last": [1, 2,],
}
"""


def test_a_new_server() -> None:
    """A server is added after the others; comments, order and blanks stay."""
    assert COMMENTED.replace(
        '"http://a//b"} // keep this\n',
        '"http://a//b"}, // keep this\n    "reel": {\n      "command": "/bin/reel",\n      "args": [\n        "mcp"\n'
        "      ]\n    }\n",
    ) == with_value(COMMENTED, PATH, ENTRY)


@pytest.mark.parametrize(
    "text", ["", "\n", "{}", "{ }\n", "\ufeff{}\n", "{\n  // nothing yet\n}\n", '{"a": 1}', '{\n\t"a": 1\n}']
)
def test_there_and_back(text: str) -> None:
    """What is added can be taken back, and means the same then."""
    added = with_value(text, PATH, ENTRY)

    assert {**parse(text), "mcpServers": {"reel": ENTRY}} == parse(added)
    assert added == with_value(added, PATH, ENTRY)
    assert parse(text) == parse(without_value(added, PATH))
    assert re.findall("//.*", text) == re.findall("//.*", without_value(added, PATH))


def test_exactly_back() -> None:
    """Of a file with comments, each character is as it was."""
    assert COMMENTED == without_value(with_value(COMMENTED, PATH, ENTRY), PATH)


def test_another_entry() -> None:
    """An entry that differs is replaced, where it is."""
    added = with_value(COMMENTED, PATH, ENTRY)
    other = {"command": "/opt/reel", "args": ["mcp"]}

    assert with_value(COMMENTED, PATH, other) == with_value(added, PATH, other)


@pytest.mark.parametrize(
    "text", ["[]", "nonsense", '{"mcpServers": 5}', '{"mcpServers": []}', '{"a": }', "{", '{"a" 1}']
)
def test_what_cannot_be_changed(text: str) -> None:
    """A text that is no JSON, or has something else there, is refused."""
    with pytest.raises(NotChangeable):
        with_value(text, PATH, ENTRY)


def test_elements() -> None:
    """An element of a list is added once, after others, and taken out again with the list that it made."""
    text = '{\n  "hooks": {\n    "A": [\n      {"x": 1}\n    ]\n  }\n}\n'
    one = with_element(text, ["hooks", "A"], {"y": 2})
    two = with_element(one, ["hooks", "B"], {"y": 2})

    assert {"hooks": {"A": [{"x": 1}, {"y": 2}], "B": [{"y": 2}]}} == parse(two)
    assert two == with_element(two, ["hooks", "B"], {"y": 2})
    assert one == without_elements(two, ["hooks", "B"], lambda each: "y" in each)
    assert text == without_elements(one, ["hooks", "A"], lambda each: "y" in each)
    assert {} == parse(without_elements(with_element("", ["hooks", "A"], {"y": 2}), ["hooks", "A"], bool))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(["mcpServers", "a", '"//', "é"]), VALUES, max_size=4)


@given(OBJECTS, st.sampled_from([None, 1, 4, "\t"]))
def test_any_object(found: dict[str, Any], indent: Any) -> None:
    """Of any settings, only the server changes; and taken back, they are as before, but for an empty object."""
    text = json.dumps(found, indent=indent)
    servers = found.get("mcpServers", {})
    if not isinstance(servers, dict):
        with pytest.raises(NotChangeable):
            with_value(text, PATH, ENTRY)
        return
    added = with_value(text, PATH, ENTRY)
    back = parse(without_value(added, PATH))

    assert {**found, "mcpServers": {**servers, "reel": ENTRY}} == parse(added)
    assert "reel" in servers or found == back | ({"mcpServers": {}} if servers == {} and "mcpServers" in found else {})
