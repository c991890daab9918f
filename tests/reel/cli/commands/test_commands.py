"""What all commands have in common, against a real daemon."""

import io
from typing import Any

import pytest

from reel.cli.commands.status import figures
from reel.cli.line.table import all_commands
from reeld.store.connection_thread import SQLITE
from tests.reel.cli.conftest import Reel, texts


def test_agent_of_the_environment_can_be_overridden(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With $REEL_AGENT the agent may be omitted, and another one can still be named."""
    reel("clone", talk, f"{talk}-2")
    monkeypatch.setenv("REEL_AGENT", talk)
    reel("add", "to the default")
    reel("mark", "here")
    reel("tag", "a=b")
    reel("add", f"{talk}-2", "to the other")
    reel("add", "-a", f"{talk}-2", "and again")

    assert ["to the default"] == texts(reel, talk)[2:]
    assert ["to the other", "and again"] == texts(reel, f"{talk}-2")[2:]
    info = reel("info", "--json").documents[0]
    assert (talk, [{"label": "here", "seq": 6}], {"a": "b"}) == (info["name"], info["marks"], info["tags"])


def test_conflict_has_its_own_status(reel: Reel, talk: str) -> None:
    """A script can recognize that the agent has changed."""
    refused = reel("add", talk, "hi", "--if-seq", "3")

    assert 5 == refused.status
    assert refused.err.startswith(f"reel: conflict: conversation {talk} is at #4, not at #3")


_CHANGES: dict[str, tuple[str, ...]] = {
    "add": ("hi",),
    "edit": (),
    "clear": (),
    "clone": ("{}-2",),
    "mark": ("label",),
    "rewind": (),
    "restore": ("3",),
    "undo": (),
    "redo": (),
    "kill": (),
    "revive": (),
    "rename": ("{}-new",),
    "title": ("Of tapes",),
    "tag": ("a=b",),
    "redact": ("--text", "tape", "--yes"),
    "ingest": ("--format", "openai-chat"),
    "load": ("--format", "openai-chat"),
}
_BODIES = {
    "ingest": b'{"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}',
    "load": b'{"messages": [{"role": "user", "content": "Hi"}]}',
}


@pytest.mark.parametrize("command", _CHANGES)
def test_changes_print_the_protocols_reply(
    reel: Reel, talk: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --json there is one document on stdout, and nothing on stderr."""
    monkeypatch.setenv("VISUAL", "sh -c 'echo hi > \"$0\"'")
    for prepared in (
        ["mark", talk],
        ["add", talk, "more"],
        ["undo", talk],
        *([["kill", talk]] * (command == "revive")),
    ):
        reel(*prepared)
    if command == "rewind":
        reel("redo", talk)

    ran = reel(command, talk, *(word.format(talk) for word in _CHANGES[command]), "--json", stdin=_BODIES.get(command))

    assert (0, "") == (ran.status, ran.err)
    assert {"command", "head", "time"} <= ran.documents[0].keys()


def test_every_command_that_writes_is_in_the_table() -> None:
    """A new command that writes needs a row in the table of this test."""
    writing = {command.name for command in all_commands() if command.writes}

    assert {*_CHANGES, "new", "ask", "compact", "prune", "purge"} == writing


def test_status_and_socket(reel: Reel, daemon: str) -> None:
    """The daemon is described to people and to programs."""
    assert f"{daemon}\n" == reel("socket").out
    document = reel("status", "--json").documents[0]
    assert (True, daemon, "reeld") == (document["running"], document["socket"], document["server"]["name"])
    assert {f"socket         {daemon}", f"engine         SQLite {SQLITE}"} <= set(reel("status").out.splitlines())


@pytest.mark.parametrize(
    ("stats", "name", "expected"),
    [
        ({"database": "/r", "database_bytes": 6_400_000, "wal_bytes": 4152}, "database", "/r (6.4 MB, its WAL 4.2 kB)"),
        ({"database": "/r.db", "database_bytes": 4096}, "database", "/r.db (4.1 kB, its WAL 0 bytes)"),
        ({"database": "/r.db", "database_bytes": None}, "database", "/r.db"),
        ({"log": "journal"}, "log", "journalctl --user -u reeld"),
        ({"memory_kb": 40_000}, "memory", "41 MB"),
        (
            {"retention_after": 33 * 10**15},
            "retention",
            "the settings are new: the conversations that are too old are purged in",
        ),
        ({"retention_after": 33 * 10**15, "retention_problem": "others use it"}, "retention", "others use it"),
        ({"search_problem": None, "search_behind": 1200}, "search", "1,200 events not in the index yet"),
        ({"search_problem": "no room", "search_behind": 1200}, "search", "no room"),
        ({"connections": 3, "clients": ["", "nvim", "nvim"]}, "connections", "3: unnamed, nvim (2)"),
    ],
)
def test_figures_of_the_daemon(stats: dict[str, Any], name: str, expected: str) -> None:
    """Sizes, the log and the clients are shown as people call them."""
    assert figures(stats)[name].startswith(expected)
    assert not {"retention", "search"} & figures({"retention_after": 1, "search_behind": 0}).keys()


def test_stats_have_every_counter(reel: Reel) -> None:
    """reel stats prints what the daemon counts, by the names of the protocol."""
    document = reel("stats", "--json").documents[0]

    assert {"memory_kb", "longest_commit_us", "clients", "log", "database_bytes"} <= document.keys()
    assert "reel" in document["clients"]
    assert list(document) == [line.split()[0] for line in reel("stats").out.splitlines() if line[0] != " "]


def test_status_counts_the_killed_agents() -> None:
    """The number of agents includes the killed ones, which are counted as well."""
    assert "5005 (2 killed)" == figures({"agents": 5005, "living_agents": 5003})["agents"]


def test_socket_option_overrides_the_variable(reel: Reel, daemon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option may come before or after the command."""
    monkeypatch.setenv("REEL_SOCKET", "/none.sock")

    assert 3 == reel("list").status
    assert 0 == reel("--socket", daemon, "list").status
    assert 0 == reel("list", "--socket", daemon).status


class _Interrupted(io.BytesIO):
    """A stdin that is interrupted by Ctrl-C when it is read."""

    def read(self, _size: int | None = -1, /) -> bytes:
        raise KeyboardInterrupt


def test_interrupt_is_quiet(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the command with the usual status, and prints nothing."""
    stdin: Any = io.TextIOWrapper(_Interrupted())
    monkeypatch.setattr("sys.stdin", stdin)

    assert (130, "", "") == reel("add", talk, "-")
