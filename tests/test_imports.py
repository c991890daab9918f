"""The house's rules: imports point one way, and each library has its one place."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = {"reel": ROOT / "client", "reeld": ROOT / "daemon"}


class Import(NamedTuple):
    """One import: which module has it, and what it names."""

    module: str
    name: str


def imports() -> Iterator[Import]:
    """Give every import of both packages, wherever in a module it stands."""
    for package, root in SOURCES.items():
        for path in sorted((root / package).rglob("*.py")):
            module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            for name in named(ast.parse(path.read_bytes())):
                yield Import(module, name)


def named(tree: ast.AST) -> Iterator[str]:
    """Give the modules that the imports of a tree name; of ``from a import b`` both ``a`` and ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def inside(name: str, *packages: str) -> bool:
    """Tell whether a module is one of these, or in one of them."""
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


ALL = list(imports())


def test_there_is_something_to_read() -> None:
    """The rules below are about modules that are really there."""
    modules = {module for module, _ in ALL}

    assert {"reel.session", "reeld.core.events", "reeld.store.door", "reeld.app"} <= modules


def test_the_client_knows_nothing_of_the_daemon() -> None:
    """``reel`` never imports ``reeld``."""
    assert [] == [found for found in ALL if inside(found.module, "reel") and inside(found.name, "reeld")]


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("reeld.core", ("reel", "reeld.core")),
        ("reeld.formats", ("reel", "reeld.core", "reeld.formats")),
        ("reeld.store", ("reel", "reeld.core", "reeld.store", "anyio", "trio", "aiosqlite")),
        ("reeld.agents", ("reel", "reeld.core", "reeld.store", "reeld.agents", "anyio", "msgpack")),
        (
            "reeld.serving",
            (
                *("reel", "reeld.core", "reeld.formats", "reeld.store", "reeld.agents", "reeld.serving"),
                *("reeld.errors", "anyio"),
            ),
        ),
    ],
)
def test_imports_point_one_way(package: str, allowed: tuple[str, ...]) -> None:
    """Beside the standard library a layer knows what it stands on, and nothing above."""
    known = (*sys.stdlib_module_names, *allowed)

    assert [] == [found for found in ALL if inside(found.module, package) and not inside(found.name, *known)]


@pytest.mark.parametrize(
    ("library", "home"),
    [("trio", "reeld.store.door"), ("aiosqlite", "reeld.store.database"), ("sqlite3", "reeld.store")],
)
def test_libraries_have_one_place(library: str, home: str) -> None:
    """A library that may be replaced one day is named in one place; ``reeld`` itself only asks whether it is there."""
    users = {found.module for found in ALL if inside(found.name, library)}

    assert users
    assert [] == [module for module in users - {"reeld.__main__"} if not inside(module, home)]


def test_core_does_nothing() -> None:
    """In the core nothing waits, reads a clock or touches the world."""
    forbidden = ("asyncio", "io", "os", "pathlib", "random", "secrets", "socket", "threading", "time", "datetime")

    assert [] == [found for found in ALL if inside(found.module, "reeld.core") and inside(found.name, *forbidden)]


@pytest.mark.parametrize("statement", ["import reel", "import reel; reel.connect", "import reel.cli"])
def test_the_client_is_thin(statement: str) -> None:
    """Neither the package nor its blocking client loads anyio or anything of the daemon."""
    unwanted = ("anyio", "trio", "reeld", "reel.json_framing")
    code = f"import sys; {statement}; print([name for name in {unwanted} if name in sys.modules])"

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
