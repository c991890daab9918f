"""The rules for imports: they point one way, and each library is used in one place."""

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeGuard

import pytest

from reel.base.installation import install_command

ROOT = Path(__file__).parent.parent
SOURCES = {"reel": ROOT / "client", "reeld": ROOT / "daemon"}


class Import(NamedTuple):
    """One import: which module has it, and what it names."""

    module: str
    name: str


@cache
def statements() -> dict[str, list[ast.Import | ast.ImportFrom]]:
    """Return the imports of every module of both packages. The trees of all modules together take 100 MB."""
    found = {}
    for package, root in SOURCES.items():
        for path in sorted((root / package).rglob("*.py")):
            name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            nodes = ast.walk(ast.parse(path.read_bytes()))
            found[name] = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    return found


def named(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the modules that an import names; of ``from a import b`` both ``a`` and ``a.b``."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    else:
        assert 0 == node.level, "imports are absolute"
        yield str(node.module)
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def inside(name: str, *packages: str) -> bool:
    """Return whether a module is one of these, or in one of them."""
    return any(f"{name}.".startswith(f"{package}.") for package in packages)


@cache
def imports() -> list[Import]:
    """Return every import of every module."""
    return [Import(module, name) for module, nodes in statements().items() for node in nodes for name in named(node)]


def dependencies(module: str) -> set[str]:
    """Return the modules of both packages that have to be imported for this one, lazily or for types only included.

    An import of ``a.b.c`` runs the packages ``a`` and ``a.b`` first, so both count, unless the importer is inside
    them: then they are being imported already. A package may import its own modules for the same reason.
    """
    found = set()
    for node in statements()[module]:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names} & statements().keys()
            found |= submodules if len(submodules) == len(node.names) else {*submodules, str(node.module)}
    packages = {package for name in found for package in parents(name) if not inside(module, package)}
    return (found | packages) & statements().keys()


def path_of(module: str) -> Path:
    """Return the file of a module."""
    path = SOURCES[module.partition(".")[0]].joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def parents(module: str) -> list[str]:
    """Return the packages that a module is in."""
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


@cache
def graph() -> dict[str, set[str]]:
    """Return the dependencies of every module."""
    return {module: dependencies(module) for module in statements()}


def reachable(start: str) -> set[str]:
    """Return all modules that this one depends on, directly or not; itself only if it is part of a cycle."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph()[waiting.pop()] - found
        found |= new
        waiting += new
    return found


# From the bottom up. A module may import from its own layer and those below; it belongs to the longest name that fits.
LAYERS: tuple[tuple[str, ...], ...] = (
    # errors, texts and values
    ("reel.base", "reel.version"),
    # what a call did to files and in a shell
    ("reel.blame", "reel.touches"),
    # what is said, and how a stored row or an item of a provider becomes a message
    ("reel.bedrock", "reel.said", "reel.providers", "reel.stats", "reel.secrets"),
    # how it travels, and what comes back
    ("reel.wire", "reel.replies", "reel.streams"),
    # what a person is told of it
    ("reel.reading",),
    # what may be asked
    ("reel.requests", "reel.exporting"),
    # what both clients do, without I/O; where the daemon is, and how it is started
    ("reel.machines", "reel.daemon"),
    # the clients
    ("reel.aio", "reel.sync"),
    ("reel",),
    # the histories of other tools: steps, how they are read and added, and the tools
    ("reel.importing.steps", "reel.importing.values", "reel.importing.id_tables"),
    ("reel.importing.batches",),
    ("reel.importing.sources", "reel.importing.adding"),
    ("reel.importing.tools",),
    ("reel.importing",),
    # the pages stand beside the command line, which opens them; they know nothing of it
    ("reel.integrations", "reel.mcp", "reel.viewing"),
    # the command: what is shown, what is read of a line, and what is carried out
    ("reel.cli.screen",),
    ("reel.cli.line",),
    ("reel.cli.commands.shared",),
    ("reel.cli.commands",),
    ("reel.cli",),
    ("reeld.wire",),
    ("reeld.core",),
    ("reeld.protocol",),
    ("reeld.answer", "reeld.poller"),
    ("reeld.formats", "reeld.store"),
    ("reeld.search",),
    ("reeld.verify",),
    ("reeld.agents",),
    ("reeld.startup",),
    ("reeld.locks",),
    ("reeld.backups",),
    ("reeld.serving",),
    ("reeld",),
)
HEIGHTS = {name: height for height, layer in enumerate(LAYERS) for name in layer}


def height(module: str) -> int:
    """Return the number of a module's layer."""
    return HEIGHTS[max((name for name in HEIGHTS if inside(module, name)), key=len)]


def test_there_is_something_to_read() -> None:
    """The modules that the rules below name exist."""
    modules = {module for module, _ in imports()}

    assert {"reel.wire.session", "reeld.core.events", "reeld.store.bridge", "reeld.app"} <= modules


def test_the_client_knows_nothing_of_the_daemon() -> None:
    """``reel`` never imports ``reeld``."""
    assert [] == [found for found in imports() if inside(found.module, "reel") and inside(found.name, "reeld")]


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("reeld.wire", ("reel", "reeld.wire", "msgpack")),
        ("reeld.core", ("reel", "reeld.core")),
        ("reeld.formats", ("reel", "reeld.wire", "reeld.core", "reeld.formats")),
        ("reeld.answer", ("anyio",)),
        ("reeld.poller", ("reeld.core", "anyio", "trio")),
        ("reeld.protocol", ("reel", "reeld.core", "reeld.protocol")),
        (
            "reeld.store",
            (
                "reel",
                "reeld.core",
                "reeld.protocol",
                "reeld.answer",
                "reeld.poller",
                "reeld.store",
                "anyio",
                "trio",
                "aiosqlite",
                "psycopg",
            ),
        ),
        ("reeld.verify", ("reel", "reeld.core", "reeld.store", "reeld.verify", "anyio")),
        ("reeld.search", ("reel", "reeld.core", "reeld.protocol", "reeld.store", "reeld.search", "anyio")),
        (
            "reeld.agents",
            (
                *("reel", "reeld.wire", "reeld.core", "reeld.protocol", "reeld.answer", "reeld.store", "reeld.agents"),
                *("anyio", "msgpack"),
            ),
        ),
        (
            "reeld.backups",
            ("reel", "reeld.store", "reeld.verify", "reeld.startup", "reeld.locks", "reeld.backups", "anyio"),
        ),
        (
            "reeld.serving",
            (
                *(
                    "reel",
                    "reeld.wire",
                    "reeld.core",
                    "reeld.protocol",
                    "reeld.formats",
                    "reeld.store",
                    "reeld.verify",
                    "reeld.agents",
                ),
                *("reeld.backups", "reeld.search", "reeld.serving", "reeld.startup", "anyio"),
            ),
        ),
    ],
)
def test_imports_point_one_way(package: str, allowed: tuple[str, ...]) -> None:
    """A layer imports only the standard library and the packages listed for it."""
    known = (*sys.stdlib_module_names, *allowed)

    assert [] == [found for found in imports() if inside(found.module, package) and not inside(found.name, *known)]


def format_packages() -> list[str]:
    """Return the packages of the formats: those that have a reader."""
    return sorted(
        name.removesuffix(".read") for name in statements() if re.fullmatch(r"reeld\.formats\.\w+\.read", name)
    )


@pytest.mark.parametrize("start", ["reeld.formats.history_builder", "reeld.formats.table", "reeld.formats.ingest"])
def test_formats_may_move_to_the_client(start: str) -> None:
    """The builder of histories and the tables of all formats need only what could move to ``client/reel`` with them.

    That is ``reel``, other modules of formats, and the standard library.
    """
    needed = {start, *reachable(start)}
    names = {name for module, name in imports() if module in needed and inside(module, "reeld")}

    assert [] == [name for name in sorted(names) if not inside(name, *sys.stdlib_module_names, "reel", "reeld.formats")]
    assert [] == [module for module in sorted(needed) if not inside(module, "reel", "reeld.formats")]


def test_the_table_alone_knows_the_formats() -> None:
    """A further format is a package and a row of the table: no other module imports one, or has the name of one."""
    packages = format_packages()
    others = [module for module in statements() if inside(module, "reeld") and not inside(module, *packages)]
    names = "|".join(re.escape(package.rpartition(".")[2].replace("_", "-")) for package in packages)
    quoted = re.compile(rf"""["'](?:{names})["']""")

    assert len(packages) > 1
    assert {"reeld.formats.table"} == {
        module for module, name in imports() if module in others and inside(name, *packages)
    }
    assert [] == [module for module in others if quoted.search(path_of(module).read_text())]


def test_no_import_cycle() -> None:
    """No module depends on itself, not even through an import inside a function or for types only."""
    closure = {module: reachable(module) for module in graph()}
    cycles = {
        frozenset(other for other in closure[module] if module in closure[other])
        for module in closure
        if module in closure[module]
    }

    assert cycles == set()


def test_the_client_is_as_drawn() -> None:
    """The picture of the client in docs/architecture.md has its layers from the top down, one in each line."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    (picture,) = re.findall(r"^```\n(cli .*?)^```", page, re.DOTALL | re.MULTILINE)
    drawn = [{*line.partition("   ")[0].split()} for line in picture.splitlines()]
    layers = [{name.removeprefix("reel.") for name in layer if re.fullmatch(r"reel(\.\w+)?", name)} for layer in LAYERS]

    assert [layer for layer in reversed(layers) if layer] == drawn


def folders() -> list[str]:
    """Return the folders of the client, without itself."""
    return sorted({package for name in statements() if inside(name, "reel") for package in parents(name)} - {"reel"})


@pytest.mark.parametrize("folder", folders())
def test_a_folder_says_what_it_is(folder: str) -> None:
    """The docstring of a folder has at least two sentences, and names the module to begin with, which exists."""
    said = ast.get_docstring(ast.parse(path_of(folder).read_bytes())) or ""
    begin = re.findall(r"Begin\s+with\s+:mod:`([\w.]+)`", said)

    assert [True] == [name in statements() and inside(name, folder) for name in begin]


def test_no_import_from_a_higher_layer() -> None:
    """A module imports only from its own layer and from those below."""
    found = [(module, name) for module, names in graph().items() for name in sorted(names)]

    assert [] == [(module, name) for module, name in found if height(name) > height(module)]


def test_the_two_clients_do_not_know_each_other() -> None:
    """The blocking and the async client share only modules that do no I/O."""
    assert [] == [found for found in imports() if inside(found.module, "reel.sync") and inside(found.name, "reel.aio")]
    assert [] == [found for found in imports() if inside(found.module, "reel.aio") and inside(found.name, "reel.sync")]


CLIENTS = ("reel.sync", "reel.aio")


def users_of_clients() -> set[str]:
    """Return the modules of the clients, and those that import one of them."""
    return {found.module for found in imports() if inside(found.module, *CLIENTS) or inside(found.name, *CLIENTS)}


def is_private(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Return whether code is the use of an attribute whose name begins with one underscore."""
    return isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")


def test_nobody_reaches_into_the_clients() -> None:
    """What is private to the clients is used in their packages only: not from outside, nor by a subclass elsewhere."""
    trees = {module: ast.parse(path_of(module).read_bytes()) for module in users_of_clients()}
    own = {module for module in trees if inside(module, *CLIENTS)}
    private = {node.attr for module in own for node in ast.walk(trees[module]) if is_private(node)}
    others = [(module, node) for module in trees.keys() - own for node in ast.walk(trees[module])]
    reached = [
        (module, ast.unparse(node))
        for module, node in others
        if is_private(node) and node.attr in private and ast.unparse(node.value) not in ("self", "cls")
    ]
    # ``Methods``, which others inherit, has nothing private.
    bases = [
        (module, ast.unparse(base)) for module, node in others if isinstance(node, ast.ClassDef) for base in node.bases
    ]
    inherited = [(module, base) for module, base in bases if re.search(r"\b(Client|Connection|Subscription)$", base)]

    assert {"_connection", "_stream"} <= private
    assert {"reel.cli.line.names", "reel.importing.adding.pipeline", "reel.integrations.worker"} <= trees.keys()
    assert [] == reached
    assert [] == inherited


def between_neighbours(place: str, *shared: str) -> list[Import]:
    """Return the imports from one folder or module of a place to another, those of what is shared excepted."""
    depth = place.count(".") + 2
    within = [found for found in imports() if all(inside(name, place) and name != place for name in found)]
    assert within
    return [
        found
        for found in within
        if found.module.split(".")[:depth] != found.name.split(".")[:depth] and not inside(found.name, *shared)
    ]


def test_tools_do_not_know_each_other() -> None:
    """The reader of a tool's histories imports nothing of another tool's."""
    assert [] == between_neighbours("reel.importing.tools")


def test_integrations_do_not_know_each_other() -> None:
    """The folder of a framework imports what is shared and its own, and nothing of another's; nobody imports it."""
    place = "reel.integrations"
    names = (
        "arguments",
        "frameworks",
        "item_copy",
        "naming",
        "new_items",
        "newest",
        "results_first",
        "unchanged",
    )
    of_the_worker = ("worker", "awaiting", "queued_calls")
    shared = [f"{place}.{name}" for name in (*names, *of_the_worker)]

    assert [] == between_neighbours(place, *shared)
    assert [] == [found for found in imports() if inside(found.name, place) and not inside(found.module, place)]


@pytest.mark.parametrize(
    ("library", "homes"),
    [
        ("trio", ["reeld.app", "reeld.poller"]),
        ("aiosqlite", ["reeld.store.connection_thread"]),
        ("psycopg", ["reeld.store.postgres"]),
        (
            "sqlite3",
            [
                "reeld.store",
                "reeld.verify",
                "reeld.search",
                "reeld.backups",
                "reel.importing.sources.databases",
                "reel.importing.originals.store",
            ],
        ),
    ],
)
def test_libraries_have_one_place(library: str, homes: list[str]) -> None:
    """A library that may be replaced is imported in one place; ``reeld`` itself only checks that it is installed."""
    users = {found.module for found in imports() if inside(found.name, library)}

    assert users
    assert [] == [module for module in users - {"reeld.__main__"} if not inside(module, *homes)]


def test_core_does_nothing() -> None:
    """The core does not await, read a clock or do I/O."""
    forbidden = ("asyncio", "io", "os", "pathlib", "random", "secrets", "socket", "threading", "time", "datetime")

    assert [] == [found for found in imports() if inside(found.module, "reeld.core") and inside(found.name, *forbidden)]


@pytest.mark.parametrize("statement", ["import reel", "import reel; reel.connect", "import reel.cli"])
def test_the_client_is_thin(statement: str) -> None:
    """Neither the package nor its blocking client loads anyio or anything of the daemon."""
    unwanted = ("anyio", "trio", "reeld", "reel.base.wakeup")
    code = f"import sys; {statement}; print([name for name in {unwanted} if name in sys.modules])"

    assert "[]\n" == subprocess.check_output([sys.executable, "-c", code], text=True)


def test_a_start_is_thin() -> None:
    """The daemon starts without what some of its methods and settings need: formats, erasures, searches, TOML."""
    methods = ("reeld.formats", "reeld.verify", "reeld.backups.commands", "reel.streams", "reeld.store.listing")
    erasures = ("reeld.store.redacting", "reeld.store.pruning", "reeld.agents.purging")
    searches = ("reeld.search.query", "reeld.search.finding", "reeld.search.entries", "reel.touches.tools")
    lines = ("reel.reading.layout", "reel.reading.fullness", "reeld.serving.line_view")
    unwanted = (*methods, *erasures, *searches, *lines, "tomllib", "difflib")
    imports = "import sys, reeld.__main__; from reeld import app, config"
    code = f"{imports}; print([name for name in sys.modules if name.startswith({unwanted})])"

    assert "[]\n" == subprocess.check_output([sys.executable, "-c", code], text=True)


@pytest.mark.parametrize(
    ("module", "framework", "package", "extra"),
    [
        ("openai_agents", "agents", "openai-agents", "openai-agents"),
        ("agent_framework", "agent_framework", "agent-framework-core", "agent-framework"),
        ("langgraph", "langgraph", "langgraph", "langgraph"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai-slim", "pydantic-ai"),
        ("claude_agent_sdk", "claude_agent_sdk", "claude-agent-sdk", "claude-agent-sdk"),
        ("google_adk", "google.adk", "google-adk", "google-adk"),
        ("strands_agents", "strands", "strands-agents", "strands-agents"),
        pytest.param(
            *("openhands_sdk", "openhands.sdk", "openhands-sdk", "openhands-sdk"),
            marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="it needs Python 3.12"),
        ),
    ],
)
def test_an_integration_without_its_framework(module: str, framework: str, package: str, extra: str) -> None:
    """An import that fails for want of the framework says how to install it."""
    attempt = f"try:\n    import reel.integrations.{module}\nexcept ImportError as error:\n    print(error)"
    code = f"import sys; sys.modules[{framework!r}] = None\n{attempt}"

    assert (
        f"reel.integrations.{module} needs {package}, which is not installed; install it with: "
        f"{install_command(extra)}\n"
    ) == subprocess.check_output([sys.executable, "-c", code], text=True)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="all frameworks run on this Python")
def test_an_integration_for_a_newer_python() -> None:
    """The error says which Python the framework needs: its extra is empty with an older one."""
    with pytest.raises(ImportError) as raised:
        importlib.import_module("reel.integrations.openhands_sdk")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert (
        f"reel.integrations.openhands_sdk needs openhands-sdk, which needs Python 3.12 or newer; this is Python {here}"
    ) == str(raised.value)


def test_an_integration_with_another_version_of_its_framework(tmp_path: Path) -> None:
    """The error names the version that was found, what it lacks, and the versions that were tested."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("__version__ = '0.5.0'")
    attempt = "try:\n    import reel.integrations.openai_agents\nexcept ImportError as error:\n    print(error)"
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{attempt}"

    assert (
        "reel.integrations.openai_agents cannot be imported with openai-agents 0.5.0: No module named 'agents.memory'; "
        f"it was tested with 0.22 to 0.24; install such a version with: {install_command('openai-agents')}\n"
    ) == subprocess.check_output([sys.executable, "-c", code], text=True)


@pytest.mark.parametrize("statement", ["import reel.aio", "import reel; reel.aio", "from reel.aio import connect"])
def test_the_async_client_without_anyio(statement: str) -> None:
    """An import that fails for want of anyio says how to install it."""
    attempt = f"try:\n    {statement}\nexcept ImportError as error:\n    print(error)"
    code = f"import sys; sys.modules['anyio'] = None\n{attempt}"

    assert (
        f"reel.aio needs anyio, which is not installed; install it with: {install_command()}\n"
    ) == subprocess.check_output([sys.executable, "-c", code], text=True)
