"""SQL texts are constants; values are passed as parameters."""

import ast
from collections.abc import Iterator
from pathlib import Path

import reeld.store

STORE = sorted(Path(reeld.store.__file__).parent.glob("*.py"))
# Names whose SQL is put together when it is needed: texts of the module, and
# the number of parameters. ``query`` and ``where`` are checked in the same way below.
ALLOWED = {
    "UNKNOWN_KIND",
    "kinds",
    "columns",
    "size",
    "row",
    "before",
    "after",
    "pragma",
    "script",
    "number",
    "alive",
    "each",
    "order",
    "table",
    "values",
}


def strings(tree: ast.AST) -> Iterator[tuple[int, set[str]]]:
    """Return the line of each f-string that looks like SQL, and the names in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
            if any(
                word in text for word in ("SELECT", "INSERT", "UPDATE ", "DELETE", "WHERE", "AND ", "VALUES", "LIMIT")
            ):
                yield node.lineno, {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def test_statements_are_made_of_constants() -> None:
    """A composed statement consists of the module's own texts, never of a value."""
    for path in STORE:
        for line, names in strings(ast.parse(path.read_text())):
            foreign = {name for name in names if not name.isupper() and not name.startswith("_")} - ALLOWED

            assert not foreign - {"query", "where", "len", "join"}, f"{path.name}:{line} puts {foreign} into SQL"
