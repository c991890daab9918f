"""What the pages for contributors say about the tree of files and the tree of events is true."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.patience import PATIENCE

_ROOT = Path(__file__).parent.parent
_PAGE = _ROOT / "docs" / "architecture.md"
_PAGES = pytest.mark.parametrize("page", [_PAGE, _ROOT / "CONTRIBUTING.md", _ROOT / "tests" / "README.md"])
# The first parts of paths in a page.
_TOPS = (_ROOT, _ROOT / "daemon" / "reeld")
_PATH = re.compile(r"(?<![\w./-])[\w./-]+\.(?:py|md|toml|lua|c)\b|(?<=`)[\w./-]+/(?=`)")
_LINK = re.compile(r"\]\(([^):#]*)[^)]*\)")
# A file, and a name in it.
_NAME = re.compile(r"`([\w./-]+\.py)`,? `(\w+)`")


def found(name: str) -> Path | None:
    """Return the file or directory that a page names."""
    return next((top / name for top in _TOPS if (top / name).exists()), None)


@_PAGES
def test_paths_of_a_page(page: Path) -> None:
    """Every file and directory that the page names exists."""
    named = set(_PATH.findall(_LINK.sub("]", page.read_text())))

    assert [] == sorted(name for name in named if found(name) is None)


@_PAGES
def test_functions_of_a_page(page: Path) -> None:
    """A function, class or constant that the page names beside a file is in that file."""
    named = _NAME.findall(page.read_text())
    texts = {path: place.read_text() for path, _ in named if (place := found(path)) is not None}

    assert [] == [(path, name) for path, name in named if not re.search(rf"\b{name}\b", texts.get(path, ""))]


def test_tree_of_the_log(daemon: Daemon, client: Client) -> None:
    """The commands of the page write the events of its table, with these parents."""
    page = _PAGE.read_text()
    (script,) = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "REEL_SOCKET": daemon.socket, "PATH": path}
    subprocess.run(["sh", "-ec", script], env=environment, check=True, capture_output=True, timeout=PATIENCE)

    rows = re.findall(r"^\| (demo|copy) \| (\d+) \| `(\w+)`.*? \| (\d*) ?\|", page, re.MULTILINE)
    assert sorted(rows) == [*parents(client, "copy"), *parents(client, "demo")]


def parents(client: Client, agent: str) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table, as the log has them."""
    events = client.history(agent).events
    seqs = ["" if event["parent"] is None else str(event["parent"]["seq"]) for event in events]
    return [(agent, str(event["seq"]), event["kind"], seq) for event, seq in zip(events, seqs, strict=True)]


def test_chores_of_the_task_tree() -> None:
    """Every task that is started again if it fails is in the tree of tasks, in the same order."""
    (source,) = re.findall(r"def _chores\(.*?\n\n\n", (_ROOT / "daemon/reeld/app.py").read_text(), re.DOTALL)
    (tree,) = re.findall(r"├── chores .*?    ├── server", _PAGE.read_text(), re.DOTALL)

    assert re.findall(r'^        "([\w ]+)":', source, re.MULTILINE) == re.findall(r"│   [├└]── (\w+)", tree)
