"""The expected value comes first: rule 2 of ``tests/README.md``."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

_TESTS = Path(__file__).parent
# What is made of other values: it is written out if they are. In a collection, they may also have names; a tuple of
# nothing but names may just as well be several results.
_COLLECTIONS = ast.List | ast.Set | ast.Dict | ast.Starred
_MADE = _COLLECTIONS | ast.Tuple | ast.UnaryOp | ast.BinOp


def is_written_out(node: ast.expr) -> bool:
    """Return whether a value stands in the test, so that it can only be the expected one."""
    if not isinstance(node, _MADE):
        return isinstance(node, ast.Constant | ast.JoinedStr)
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    others = [part for part in parts if not isinstance(part, ast.Name)]
    return all(map(is_written_out, others)) and (bool(others) or not parts or isinstance(node, _COLLECTIONS))


def comparisons(node: ast.expr) -> Iterator[ast.Compare]:
    """Yield the comparisons that an assert needs to hold."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from comparisons(value)
    elif isinstance(node, ast.Compare):
        yield node


def expected_last(source: str) -> Iterator[int]:
    """Yield the lines of asserts that compare something with an expected value, which is not the first."""
    for node in ast.walk(ast.parse(source)):
        for found in comparisons(node.test) if isinstance(node, ast.Assert) else ():
            is_last = is_written_out(found.comparators[0]) and not is_written_out(found.left)
            if is_last and isinstance(found.ops[0], ast.Eq):
                yield found.lineno


@pytest.mark.parametrize(
    "right", ["1", "-1", "'a'", "f'{a}'", "[]", "[a, 'b']", "{'a': (b, 1)}", "[*a, {1 << 2}]", "()"]
)
def test_a_value_that_is_written_out(right: str) -> None:
    """Constants, texts and collections of them are expected values, with names for parts of them, too."""
    assert [1] == list(expected_last(f"assert b and f(a).c == {right}, 'why'"))
    assert [] == list(expected_last(f"assert {right} == f(a).c"))


@pytest.mark.parametrize(
    "right", ["expected", "f(1)", "a.b", "a[0]", "(a, b)", "a + b", "[f(1)]", "{'a': a.b}", "[x for x in a]"]
)
def test_a_value_that_is_computed(right: str) -> None:
    """Which of two computed values is the expected one, only a reader can tell."""
    assert [] == list(expected_last(f"assert f(a) == {right}"))


def test_expected_values_come_first() -> None:
    """In every assert, the expected value is the first one; then the failures of all tests read alike."""
    found = ((path, line) for path in _TESTS.rglob("*.py") for line in expected_last(path.read_text()))

    assert [] == sorted(f"{path.relative_to(_TESTS)}:{line}" for path, line in found)
