"""``reel search``."""

import pytest

from reel.sync.client import Client
from tests.daemon import until_indexed
from tests.reel.cli.conftest import Reel

from .test_processes import on_terminal


def test_hits_by_conversation(reel: Reel, client: Client, name: str) -> None:
    """Hits are listed below their conversation, the newest first, and what was undone is marked."""
    client.create(f"{name}-a", title="Tapes")
    client.add(f"{name}-a", f"first xx{name}")
    client.add(f"{name}-b", f"second\nxx{name}", create=True)
    client.add(f"{name}-a", f"third xx{name}")
    client.undo(f"{name}-a")
    until_indexed(client)

    lines = reel("search", f"xx{name}").out.splitlines()

    assert [
        f"    third xx{name}",
        f"    first xx{name}",
        f"    second xx{name}",
    ] == [line for line in lines if line.startswith("    ")]
    assert f"{name}-a  Tapes" == lines[0]
    assert lines[1].endswith("not in the conversation")
    assert ["", f"{name}-b"] == lines[5:7]


def test_hits_for_programs(reel: Reel, client: Client, name: str) -> None:
    """With --json each hit is a document, at most as many as asked for."""
    client.add(name, [f"xx{name} {number}" for number in range(130)], create=True)
    until_indexed(client)

    hits = reel("search", f"xx{name}", "--limit", "120", "--json").documents

    assert [hit["seq"] for hit in hits] == list(range(131, 11, -1))
    (best,) = reel("search", f"xx{name}", "129", "--best", "--json").documents
    assert f"xx{name} 129" == best["snippet"]


def test_nothing_found(reel: Reel, name: str) -> None:
    """If nothing is found, the status says so; so does a line at a terminal, and nowhere else."""
    done = reel("search", f"nothing{name}")

    assert (1, "", "") == (done.status, done.out, done.err)
    assert f"reel: no matches for nothing{name}\n" == on_terminal("search", f"nothing{name}")


def test_a_query_is_missing(reel: Reel) -> None:
    """Without a query, and not at a terminal, the usage is wrong."""
    assert (2, "") == (reel("search").status, reel("search").out)


@pytest.mark.usefixtures("reel")
def test_hits_on_a_terminal(client: Client, name: str) -> None:
    """On a terminal, matches have a colour, and a hint says how to open a hit."""
    client.add(name, f"say xx{name} now", create=True)
    until_indexed(client)

    shown = on_terminal("search", f"xx{name}")

    assert f"say \x1b[31mxx{name}\x1b[0m now" in shown
    assert f"open one with: reel show {name} 2" in shown
