"""What all tests have in common: no settings of the user, no daemon by accident, no silent skips."""

import fcntl
import gc
import os
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from reeld.locks import lasting_directory
from reeld.memory import give_back, use_one_heap
from tests.daemon_fixtures import client, daemon, directory, prepared  # noqa: F401 - for every test
from tests.few_variables import allow_few_variables
from tests.places import FILES
from tests.thoroughness import draw_alike, read_unicode, use_profile

# For what pytest and the tests put there, and the programs that they start.
os.environ["TMPDIR"] = tempfile.tempdir = FILES

# Some tests start forty threads: with a heap for each, a worker kept more of what they had freed.
use_one_heap()

allow_few_variables()

# Neither the settings of the person at the keyboard nor what a shell writes there belongs to the tests.
_OWN = tempfile.TemporaryDirectory(prefix="reel-tests-")
for _kind in ("CONFIG", "DATA", "STATE"):
    os.environ[f"XDG_{_kind}_HOME"] = f"{_OWN.name}/{_kind.lower()}"
for _name in ("REEL_AGENT", "REEL_DATABASE", "REEL_SOCKET"):
    os.environ.pop(_name, None)

# No command that a test runs starts a daemon, unless the test is about that.
os.environ["REEL_NO_START"] = "1"

# A shell that is not interactive starts its background jobs with SIGINT ignored, and nohup ignores SIGHUP. Children
# inherit that, so a command that a test interrupts would not notice.
for _signal, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _handler)

use_profile()

# The Debian package of a program, if it is called otherwise.
_PACKAGES = {
    "emacs": "emacs-nox",
    "man": "man-db",
    "nc": "netcat-openbsd",
    "node": "nodejs",
    "nvim": "neovim",
}
_REMEDIES = {
    "google-re2 is not installed": "pip install '.[regex]'",
    "the newest nvim is not installed": ".venv/bin/python -m pip install -e '.[editors]'",
    "the SDKs are not installed": "make install",
    "agent-framework-core is not installed": "make install",
    "a PostgreSQL server is not installed": "apt-get install postgresql",
    "PostgreSQL's auto_explain is not installed": "apt-get install postgresql-contrib",
    "openai-agents is not installed": ".venv/bin/python -m pip install -e '.[openai-agents]'",
    "claude-agent-sdk is not installed": "make adapters",
    "the newest SDKs are not installed": "make adapters",
    "pytest-asyncio is not installed": "make adapters",
    "OpenTelemetry's SDK is not installed": "make adapters",
    "google-adk is not installed": "make adapters",
    "strands-agents is not installed": "make adapters",
    "no agent is installed": "python -m tests.adapters.programs",
    "openhands-sdk is not installed": "make adapters, with Python 3.12 or newer",
    "the OpenHands SDK needs Python 3.12": "make adapters LATER=python3.13",
    "langchain is not installed": "make adapters",
    "deepagents is not installed": "make adapters",
    "autogen_ext is not installed": "make adapters",
    "dspy is not installed": "make adapters",
    "llama_index is not installed": "make adapters",
    "smolagents is not installed": "make adapters",
    "a source distribution cannot be fetched": "make adapters, with a network",
    "the repository of agent-framework cannot be fetched": "make adapters, with a network",
    "claude is not installed": "npm install -g @anthropic-ai/claude-code",
    "codex is not installed": "npm install -g @openai/codex",
    "mcp-inspector is not installed": "npm install -g @modelcontextprotocol/inspector",
    "tmux is not installed": "apt-get install tmux",
    "it takes 2.5 GB: make crash runs it": "make crash",
    "there is no compiler": "apt-get install gcc",
    "only glibc has these functions": "run them on a Linux with glibc",
    "only Linux lists descriptors and memory": "run them on Linux",
    "only Linux lists locks": "run them on Linux",
    "processes are looked for in /proc": "run them on Linux",
    "it needs Python 3.12": "make check PYTHON=python3.12",
    "all frameworks run on this Python": "make check PYTHON=python3.11",
    "this version has no such tests": "remove the file from the list of the test, if no version has it",
    "this version has no interrupts": "make adapters runs it with a newer version as well",
    "only Linux lists what is mapped": "run them on Linux",
    "only Linux has files in memory that can be sealed": "run them on Linux",
    "only Linux lets a process choose its name": "run them on Linux",
    "this system has no huge pages": "run them on Linux with /sys/kernel/mm/transparent_hugepage",
    "only Linux changes the limits of a running process": "run them on Linux",
    "it takes 2.5 GB": "make crash",
    "only root can give a file away": "run them as root",
    "unprivileged mounts are not allowed here": "run them as root, or allow user namespaces",
    "the recorded requests are not here": "not part of the project",
}


# Tests of functions and tasks; all others start programs, and count as slow.
_UNITS = tuple(str(Path(__file__).parent / folder) + os.sep for folder in ("formats", "reel", "reeld"))


@pytest.hookimpl(trylast=True)  # Hypothesis allows it only when it has begun itself
def pytest_sessionstart() -> None:
    """Prepare what the first property would wait for."""
    read_unicode()


def pytest_sessionfinish() -> None:
    """Remove the locks of databases that are gone: daemons that tests have killed leave them, and no reboot would."""
    for lock in Path(lasting_directory()).glob("database-*.lock"):
        with suppress(OSError), lock.open("rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _, _, path, *_ = (*opened.read().decode(errors="surrogateescape").split("\n"), "", "")
            if not os.path.lexists(path):
                lock.unlink()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what uses a database over each engine."""
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what is about files on a server, and mark what `make test` leaves out beside what is marked."""
    items[:] = [item for item in items if not (item.get_closest_marker("file") and _is_on_server(item))]
    for item in items:
        if not str(item.path).startswith(_UNITS):
            item.add_marker("slow")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let a property draw what it drew before."""
    draw_alike(item)


def _is_on_server(item: pytest.Item) -> bool:
    return (
        isinstance(item, pytest.Function) and hasattr(item, "callspec") and "postgres" in item.callspec.params.values()
    )


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking at the tests themselves: a million objects, half a second each time."""
    gc.collect()
    gc.freeze()
    # Most of what a test makes is gone with it, cycles or not; by default it was looked at after each 700 objects.
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(scope="module", autouse=True)
def tidy() -> Iterator[None]:
    """Return freed memory to the system: the large texts of some tests left each worker with 200 MB, this with 70."""
    yield
    give_back()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List how many tests were skipped for what, and how to have them run."""
    skipped = Counter(_reason(report.longrepr) for report in terminalreporter.stats.get("skipped", ()))
    if skipped:
        terminalreporter.section("tests that were skipped, and how to run them")
    for reason, count in skipped.most_common():
        terminalreporter.write_line(f"{count:5} {reason}: {remedy(reason)}")


def _reason(longrepr: Any) -> str:
    return str(longrepr[2] if isinstance(longrepr, tuple) else longrepr).removeprefix("Skipped: ")


def remedy(reason: str) -> str:
    """Return what to do, so that tests are no longer skipped for a reason."""
    if reason in _REMEDIES:
        return _REMEDIES[reason]
    missing = re.fullmatch(r"(.+) is not installed", reason)
    if missing is None:
        return "see tests/README.md"
    programs = re.split(r" or |, ", missing[1])
    return f"apt-get install {' '.join(_PACKAGES.get(program, program) for program in programs)}"
