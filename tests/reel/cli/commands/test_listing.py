"""``reel list``."""

from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.daemon import later
from tests.reel.cli.conftest import Reel
from tests.reel.cli.running import started

from .test_processes import on_terminal


@pytest.mark.slow
def test_list_without_a_match(reel: Reel, name: str) -> None:
    """The hint says how the list was filtered, and how to list the others."""
    reel("new", f"{name}-1")
    reel("kill", f"{name}-1")

    assert f"no conversation's name begins with '{name}-2'; list all with: reel list --all" in on_terminal(
        "list", "--prefix", f"{name}-2"
    )
    killed = f"all conversations whose names begin with '{name}' are killed; list them with: reel list --all"
    assert killed in on_terminal("list", "--prefix", name)


def names(reel: Reel, *options: str) -> list[str]:
    """Return the first column of a list."""
    return [line.split("  ")[0].strip() for line in reel("list", *options).out.splitlines()]


def test_list_has_the_last_changed_agent_first(reel: Reel, client: Client, name: str) -> None:
    """The order is that of the last change, of creation, or of the names."""
    for letter in "cab":
        client.add(f"{name}-{letter}", "hi", create=True)
    later()  # of agents that changed in the same millisecond, the newest is first
    client.add(f"{name}-c", "hi")

    def order(*options: str) -> str:
        return "".join(listed[-1] for listed in names(reel, "--prefix", name, *options))

    assert ["cba", "cab", "abc", "cb"] == [
        order(), order("--sort", "created"), order("--sort", "name"), order("--limit", "2")
    ]  # fmt: skip


def test_list_by_words_and_tags(reel: Reel, client: Client, name: str) -> None:
    """The words are parts of names, titles and tags; a hint says that no agent matches."""
    client.create(f"{name}-1", title="Tape decks", tags={"topic": "tapes"})
    client.create(f"{name}-2", title="Tape heads")

    assert [f"{name}-2", f"{name}-1"] == names(reel, name, "TAPE")
    assert [f"{name}-1"] == names(reel, name, "topic=")
    assert [f"{name}-1"] == names(reel, name, "--tag", "topic=tapes")
    assert "no conversation matches; list all with: reel list --all" in on_terminal("list", name, "tubes")
    assert 2 == reel("list", "--tag", "topic").status


def test_list_with_the_filters_of_a_search(reel: Reel, client: Client, name: str, tmp_path: Path) -> None:
    """A list knows those that are about a conversation, in a pipe as well, beside words and its own options."""
    (tmp_path / "below").mkdir()
    for letter, place in [("a", tmp_path), ("b", tmp_path / "below"), ("c", Path(f"{tmp_path}x"))]:
        client.create(f"{name}-{letter}", tags={"cwd": str(place), "kind": letter})
    client.create(f"{name}-d", title="on after:noon")
    client.create(f"{name}-e", tags={"kind": "b"})
    client.kill(f"{name}-e")

    def found(*words: str) -> str:
        return "".join(sorted(line[-1] for line in names(reel, "--prefix", name, *words)))

    assert ["abcd", "", "abcd", ""] == [
        found(word) for word in ("after:yesterday", "before:yesterday", "after:today", "after:2100")
    ]
    assert ["ab", "b", "a"] == [
        found(f"in:{tmp_path}"), found(f"in:{tmp_path}/below"), found(f"in:{tmp_path}", "tag:kind=a")
    ]  # fmt: skip
    assert ["abc", "b", "be", "d", ""] == [
        found("tag:kind"), found("tag:kind=b"), found("tag:kind=b", "--all"), found(f"agent:{name}-d"),
        found(f"agent:{name}-d", "tag:kind"),
    ]  # fmt: skip
    assert "d" == found('"after:noon"')
    assert ["a", "b"] == [
        found("tag:kind", "--sort", "name", "-n", "1"), found("tag:kind=b", "--format", "names")
    ]  # fmt: skip
    assert [f"{name}-b"] == [row["name"] for row in reel("list", "--prefix", name, "tag:kind=b", "--json").documents]


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("after:yesterdy", "after:yesterdy is no time (did you mean after:yesterday?)"),
        ("role:user", "role: is about messages; find them with: reel search role:user"),
        ("has:tape", "has: is about messages; find them with: reel search has:tape"),
        ("in:", "in: has no value"),
    ],
)
def test_list_with_a_filter_that_means_nothing(reel: Reel, word: str, problem: str) -> None:
    """It is named, in a script too: an empty list would say that there is no such conversation."""
    ran = reel("list", word)

    assert 2 == ran.status
    assert problem in ran.err


def test_list_with_what_looks_like_a_filter(reel: Reel, client: Client, name: str) -> None:
    """In a script it is text, as in a search; a person is told which filters there are."""
    client.create(f"{name}-1", title="froom:x")

    assert [f"{name}-1"] == names(reel, name, "froom:x")
    assert "froom: is no filter (did you mean role:?); the filters are " in on_terminal("list", "froom:x")


def test_list_in_a_tree(reel: Reel, talk: str) -> None:
    """Clones are below their sources, also below one that is killed; other killed agents need --all."""
    reel("clone", talk, f"{talk}-2", "--at", "3")
    reel("clone", talk, f"{talk}-3")
    for killed in (talk, f"{talk}-3"):
        reel("kill", killed)

    assert [f"{talk}-2"] == names(reel, "--prefix", talk)
    assert [talk, f"└─ {talk}-2"] == names(reel, "--prefix", talk, "--tree")
    assert [talk, f"├─ {talk}-2", f"└─ {talk}-3"] == names(reel, "--prefix", talk, "--tree", "--all")


def test_limit_of_a_tree(reel: Reel, talk: str) -> None:
    """The first lines of the tree are listed, not the oldest agents."""
    reel("new", f"{talk}-2")
    reel("clone", talk, f"{talk}-3")
    reel("add", f"{talk}-2", "hi")

    assert [f"{talk}-2", talk] == names(reel, "--prefix", talk, "--tree", "--limit", "2")


def test_list_at_a_terminal(talk: str, client: Client) -> None:
    """The columns are the age, the number of messages, whose turn it is, and the first words."""
    client.add(talk, ["And a reel?"])
    shown = on_terminal("list", "--prefix", talk)

    assert ["\x1b[2mNAME", "AGE", "MSGS", "TURN", "ABOUT\x1b[0m"] == shown.splitlines()[0].split()
    assert "3  \x1b[32massistant  \x1b[0mWhat is a tape deck?" in shown


def test_list_names_who_is_writing(reel: Reel, talk: str, daemon: str) -> None:
    """The client that is writing has its name in the list."""
    with started(daemon, "draft", talk, "so far", terminal=True) as running:
        running.until("shown until")

        assert "writing… (reel)  What is a tape deck?\n" in reel("list", "--prefix", talk).out


def test_list_for_programs(reel: Reel, talk: str) -> None:
    """--format tsv has a value in each column, and --format names only the names."""
    reel("title", talk, "Two\twords\x1b")
    reel("tag", talk, "a=b")
    info = reel("info", talk, "--json").documents[0]
    (line,) = reel("list", "--prefix", talk, "--format", "tsv").out.splitlines()

    times = [str(info["updated"]), str(info["created"])]
    told = ["user", "", "Two words\\x1b", "What is a tape deck?", "a=b"]
    assert [talk, info["id"], "alive", *times, "6", "2", *told] == line.split("\t")
    assert f"{talk}\n" == reel("list", "--prefix", talk, "--format", "names").out


@pytest.mark.slow
def test_list_of_many_agents(reel: Reel, client: Client, name: str) -> None:
    """A list goes on after its first page, and --limit ends it."""
    for number in range(450):
        client.create(f"{name}-{number}")

    assert [f"{name}-{number}" for number in range(449, -1, -1)] == names(reel, "--prefix", name)
    assert 250 == len(names(reel, "--prefix", name, "--limit", "250", "--format", "names"))
    assert 250 == len(on_terminal("list", "--prefix", name, "--limit", "250", "--no-pager").splitlines()) - 1


@pytest.mark.parametrize("options", [("--tree", "--sort", "name"), ("--limit", "0"), ("--sort", "size")])
def test_list_refuses_options(reel: Reel, options: tuple[str, ...]) -> None:
    """Options that contradict each other, or have no meaning, are wrong usage."""
    assert 2 == reel("list", *options).status
