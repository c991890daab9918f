"""``reel search``."""

import re
import time
from datetime import datetime
from pathlib import Path

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
    best = reel("search", f"xx{name}", "129", "--best", "--json").documents[0]
    assert f"xx{name} 129" == best["snippet"]


def test_what_was_just_said(reel: Reel, client: Client, name: str) -> None:
    """A search waits for the index, so it finds what was acknowledged before."""
    client.add(name, f"xx{name}", create=True)

    assert 1 == len(reel("search", "--newest", f"xx{name}", "--json").documents)


def test_a_piece_of_text(reel: Reel, client: Client, name: str) -> None:
    """``has:`` finds a part of a word, and ``-has:`` leaves out what has it; the daemon refuses what is too long."""
    client.add(name, ["first getUserName", "second getUserName"], create=True)

    found = reel("search", f"agent:{name} has:tUserN -has:sec", "--json").documents
    assert ["first getUserName"] == [hit["snippet"] for hit in found]
    assert "at most 1000" in reel("search", f"has:{'x' * 2000}").err


def test_conversations_with_hits(reel: Reel, client: Client, name: str) -> None:
    """``-l`` prints the name of each conversation once, at most as many as asked for."""
    word = "".join(char for char in name if char.isalnum())
    for number in range(3):
        client.add(f"{name}-{number}", [f"{word} again"] * 3, create=True)
    until_indexed(client)

    assert {f"{name}-{number}" for number in range(3)} == set(reel("search", word, "-l").out.splitlines())
    assert 2 == len(reel("search", word, "-l", "--limit", "2", "--json").documents)


def test_lines_around_a_match(reel: Reel, client: Client, name: str) -> None:
    """``-C`` prints the lines with matches, and so many before and after each."""
    word = "".join(char for char in name if char.isalnum())
    client.add(name, "\n".join([*"abcd", f"the {word}", *"efgh", word, "i"]), create=True)
    until_indexed(client)

    assert ["d", f"the {word}", "e", "--", "h", word, "i"] == [
        line.strip() for line in reel("search", f"+{word}", "role:user", "-C", "1").out.splitlines()[2:]
    ]


def test_a_typing_mistake(reel: Reel, client: Client, name: str) -> None:
    """What is shown instead of a word that nobody used is said, and so is what a hit lacks."""
    word = "".join(char for char in name if char.isalpha())
    client.add(name, f"about {word}q", create=True)
    until_indexed(client)

    done = reel("search", f"{word}qx", "unheardof")

    assert f"nothing has {word}qx; showing results for {word}q" in done.err
    assert "without: unheardof" in done.out


def test_nothing_found(reel: Reel, name: str) -> None:
    """If nothing is found, the status says so; so does a line at a terminal, and nowhere else."""
    done = reel("search", "--newest", f"nothing{name}")

    assert (1, "", "") == (done.status, done.out, done.err)
    assert f"reel: no matches for nothing{name}\n" == on_terminal("search", "--newest", f"nothing{name}")


def test_what_would_find_something(reel: Reel, client: Client, name: str) -> None:
    """At a terminal, a query without hits is told with what its words would find as prefixes, or with less of it."""
    word = "w" + "".join(char for char in name if char.isalnum())
    client.add(name, [f"{word}uler one", f"{word}uling two", f"{word}ules three"], create=True)
    until_indexed(client)

    assert f"no matches for {word}; 3 with {word}*\n" in on_terminal("search", "--newest", word)
    assert "; 3 without role:tool\n" in on_terminal("search", "--newest", f"{word}*", "role:tool")
    assert 1 == reel("search", "--newest", word).status


@pytest.mark.usefixtures("reel")
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["x", "froom:x"], "froom: is no filter (did you mean role:?)"),
        (["after:soon"], "after:soon is no time (did you mean after:"),
        (["role:usr"], "role:usr means nothing (did you mean role:user?)"),
    ],
)
def test_filters_that_mean_nothing(words: list[str], meant: str) -> None:
    """At a terminal such a filter is an error that says what was meant."""
    assert f"reel: {meant}" in on_terminal("search", *words)


def test_filters_that_mean_nothing_in_a_script(reel: Reel) -> None:
    """In a script it is text, as it is for a program."""
    assert (1, "", "") == reel("search", "--newest", "froom:xqx", "role:usr", "after:soon")


def test_conversations_here(
    reel: Reel, client: Client, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``in:.`` finds what was said in this directory, below it, and in the other worktrees of its repository."""
    (tmp_path / "main" / ".git" / "worktrees" / "w").mkdir(parents=True)
    (tmp_path / "main" / ".git" / "worktrees" / "w" / "gitdir").write_text(f"{tmp_path}/beside/.git\n")
    for number, place in enumerate(("main", "main/sub", "beside", "else", "besides")):
        (tmp_path / place).mkdir(exist_ok=True)
        client.create(f"{name}-{number}", tags={"cwd": str(tmp_path / place)})
        client.add(f"{name}-{number}", f"xx{name} {place}")
    until_indexed(client)
    monkeypatch.chdir(tmp_path / "main")

    def said(*words: str) -> list[str]:
        return [
            hit["snippet"].split()[1] for hit in reel("search", "--newest", f"xx{name}", *words, "--json").documents
        ]

    assert ["beside", "main/sub", "main"] == said("in:.")
    assert said("in:.") == said("here:") == said(f"in:{tmp_path}/main")
    assert ["else"] == said("in:../else")
    monkeypatch.chdir(tmp_path / "main" / "sub")
    assert ["main/sub"] == said("here:")


def test_times_of_the_person(reel: Reel, client: Client, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A day begins at midnight where the person is, wherever the daemon runs."""
    noon = "2026-03-30T12:00+00:00"  # 01:00 of the next day in Auckland
    client.create(name)
    client.add(
        name, {"role": "user", "content": f"xx{name}", "sent": int(datetime.fromisoformat(noon).timestamp() * 1000)}
    )
    until_indexed(client)

    def hits(zone: str, *words: str) -> int:
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        found = len(reel("search", "--newest", f"xx{name}", *words, "--json").documents)
        monkeypatch.delenv("TZ")
        time.tzset()
        return found

    assert (1, 0) == (hits("Pacific/Auckland", "after:2026-03-31"), hits("UTC", "after:2026-03-31"))
    assert (0, 1) == (hits("UTC", "after:today"), hits("UTC", "before:today"))


def test_conversation_by_its_short_name(reel: Reel, client: Client, name: str) -> None:
    """``agent:`` takes a part of a name, as commands do; at a terminal an unknown one is an error."""
    client.add(f"{name}/0a1b2c3d-77b1-4d25-bc34-9ea864913c3b", f"xx{name}", create=True)
    until_indexed(client)

    assert 1 == len(reel("search", f"xx{name}", "agent:0a1b2c3d", "--json").documents)
    assert 1 == reel("search", f"xx{name}", "agent:nobody-at-all").status
    assert "no conversation nobody-at-all" in on_terminal("search", f"xx{name}", "agent:nobody-at-all")


def test_short_names_above_hits(reel: Reel, client: Client, name: str) -> None:
    """At a terminal, conversations have the short forms of their names; a script gets the whole names."""
    first, second = (f"{name}/{digits}-77b1-4d25-bc34-9ea864913c3b" for digits in ("3a1b2c3d", "3a1b2c4d"))
    for each in (first, second):
        client.add(each, f"xx{name}", create=True)
    until_indexed(client)

    shown = on_terminal("search", f"xx{name}")

    assert {f"{name}/3a1b2c3d", f"{name}/3a1b2c4d"} == set(re.findall(rf"{name}/[\w-]+", shown))
    assert f"{name}/3a1b2c3d\x1b[0m\n" in on_terminal("search", f"xx{name}", "-l")
    assert f'"name":"{first}"' in on_terminal("search", f"xx{name}", "--json")
    assert {first, second} == set(reel("search", f"xx{name}", "-l").out.splitlines())
    assert {first, second} <= set(reel("search", f"xx{name}").out.splitlines())
    assert {first, second} == {hit["name"] for hit in reel("search", f"xx{name}", "--json").documents}


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
