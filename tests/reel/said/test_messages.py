"""Messages are plain maps: the helpers make valid ones, and the types agree with the check."""

import ast
import pkgutil
import pydoc
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import reel
from reel import replies
from reel.said import messages, new_messages
from reel.said.blocks import ALLOWED, SHAPES, check_blocks
from reel.said.messages import NewMessage
from reel.said.new_messages import text, tool_call, tool_result

TYPES: dict[str, type] = {
    "text": messages.TextBlock,
    "tool_call": messages.ToolCallBlock,
    "tool_result": messages.ToolResultBlock,
    "thinking": messages.ThinkingBlock,
    "redacted_thinking": messages.RedactedThinkingBlock,
    "media": messages.MediaBlock,
    "opaque": messages.OpaqueBlock,
}
# The arguments of a helper, and the expected message.
MADE: list[tuple[NewMessage, dict[str, Any]]] = [
    (text("user", "hi"), {"role": "user", "content": [{"type": "text", "text": "hi"}]}),
    (text("system", ""), {"role": "system", "content": [{"type": "text", "text": ""}]}),
    (
        tool_call("c1", "grep", '{"q": "x"}'),
        {
            "role": "assistant",
            "content": [{"type": "tool_call", "id": "c1", "name": "grep", "arguments": '{"q": "x"}'}],
        },
    ),
    (
        tool_result("c1", "found"),
        {
            "role": "tool",
            "content": [{"type": "tool_result", "tool_call_id": "c1", "content": "found", "is_error": False}],
        },
    ),
    (
        tool_result("c1", [{"type": "text", "text": "no"}], True),
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool_result",
                    "tool_call_id": "c1",
                    "content": [{"type": "text", "text": "no"}],
                    "is_error": True,
                }
            ],
        },
    ),
]


@pytest.mark.parametrize(("made", "expected"), MADE)
def test_a_helper_makes_a_plain_map(made: NewMessage, expected: dict[str, Any]) -> None:
    """A helper returns the exact map of the wire."""
    assert expected == made


@pytest.mark.parametrize("made", [made for made, _ in MADE])
def test_what_a_helper_makes_is_legal(made: NewMessage) -> None:
    """No helper makes a message that the check refuses."""
    check_blocks(made["content"], made["role"], "content")


@pytest.fixture
def everything() -> None:
    """Import every module of the package, so that each becomes an attribute of it."""
    for module in pkgutil.iter_modules(reel.__path__):
        import_module(f"reel.{module.name}")


def test_a_tool_call_of_a_map() -> None:
    """Arguments that are a map are written as JSON."""
    assert reel.tool_call("c", "ls", {"path": "ä", "n": 1}) == reel.tool_call("c", "ls", '{"path":"ä","n":1}')


@pytest.mark.parametrize("name", ["text", "tool_call", "tool_result"])
@pytest.mark.usefixtures("everything")
def test_a_helper_is_public(name: str) -> None:
    """The package exports the helpers, whatever was imported before."""
    assert getattr(new_messages, name) is getattr(reel, name)


@pytest.mark.usefixtures("everything")
def test_no_module_stands_before_a_public_name() -> None:
    """A public name is never a module of the same name."""
    assert [] == [name for name in reel.__all__ if isinstance(getattr(reel, name), ModuleType)]


def test_the_package_lists_its_public_names() -> None:
    """``dir(reel)`` and ``help(reel)`` show the public names only."""
    assert sorted(reel.__all__) == dir(reel)
    # From Python 3.13 on, the parameters are in lines.
    assert re.search(r"connect\(\s*path: str \| None = None", pydoc.plain(pydoc.render_doc(reel)))


@pytest.mark.parametrize(("package", "more"), [(reel, {"aio": "reel.aio"}), (replies, {})])
def test_type_checkers_see_the_same_names(package: ModuleType, more: dict[str, str]) -> None:
    """The names for type checkers are the names that the package loads, from the same modules."""
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))
    checked = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("reel")
        for alias in node.names
    }
    loaded = {name: f"{module}.{name}" for name, module in package._MODULE_OF.items()}

    assert {**loaded, **more} == checked


@pytest.mark.parametrize(("name", "block"), TYPES.items())
def test_a_type_has_the_fields_that_are_checked(name: str, block: type) -> None:
    """The type of a block and the table of shapes have the same fields."""
    required, optional = SHAPES[name]
    expected = {"type", "provider_metadata", *required, *optional}
    if name == "tool_result":
        expected |= {"content"}

    assert expected == set(block.__annotations__)


def test_every_block_has_a_type() -> None:
    """Every allowed type of block has a shape and a Python type."""
    expected = set(TYPES)

    assert expected == set(SHAPES)
    assert expected == {name for names in ALLOWED.values() for name in names}
