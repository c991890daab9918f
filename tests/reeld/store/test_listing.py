"""The list of agents: its order, its pages and its details."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgpack import unpackb

from reel.wire.msgpack_codec import packer
from reeld.protocol.params import Agents
from reeld.search.query import label_filter
from reeld.store.first_words import MOST_MESSAGES
from reeld.store.listing import Listing, agents
from reeld.store.schema import prepare
from tests.reeld.store.rows import Rows

pack = packer()


def names(rows: Rows, listing: Listing) -> tuple[list[str], bool]:
    """Return the names on a page of agents, and whether there are more."""
    page = agents(rows.connection, listing, pack)
    return [unpackb(agent)["name"] for agent in page.items], page.more


def details(rows: Rows, *fields: str) -> list[Any]:
    """Return some details of the first agent."""
    (agent,) = agents(rows.connection, Listing(Agents(limit=1), drafts={1: ["nvim", None]}), pack).items
    return [unpackb(agent)[field] for field in fields]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (("", None, 9, None), (["a", "a%1", "ab", "b"], False)),
        (("", None, 2, None), (["a", "a%1"], True)),
        (("", None, 2, f"{2:032x}"), (["ab", "b"], False)),
        (("", True, 9, None), (["a", "a%1", "b"], False)),
        (("", False, 9, None), (["ab"], False)),
        (("a", None, 9, None), (["a", "a%1", "ab"], False)),
        (("a%", None, 9, None), (["a%1"], False)),
        (("A", None, 9, None), ([], False)),
        (("", None, 9, "nobody"), ([], False)),
    ],
)
def test_pages_of_agents(rows: Rows, asked: tuple[Any, Any, Any, Any], expected: tuple[list[str], bool]) -> None:
    """Agents are listed in the order of their creation; a prefix is taken literally."""
    for row, (name, killed) in enumerate([("a", None), ("a%1", None), ("ab", 5), ("b", None)], 1):
        rows.agent(row, name, killed=killed)

    assert expected == names(rows, Listing(Agents(*asked)))


@pytest.mark.parametrize(
    ("limit", "after", "expected"),
    [
        (9, None, (["b", "d", "c", "a"], False)),
        (2, None, (["b", "d"], True)),
        (2, 4, (["c", "a"], False)),
        (9, 99, ([], False)),
    ],
)
def test_last_changed_agents_first(rows: Rows, limit: int, after: int | None, expected: tuple[list[str], bool]) -> None:
    """Of two agents that were changed at the same time, the newer one comes first."""
    for row, (name, updated) in enumerate([("a", 1), ("b", 3), ("c", 2), ("d", 2)], 1):
        rows.agent(row, name)
        rows.connection.execute("UPDATE agents SET updated = ? WHERE id = ?", (updated, row))

    uid = None if after is None else f"{after:032x}"
    assert expected == names(rows, Listing(Agents("", None, limit, uid, order="updated")))


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({}, ["a", "b", "c"]),
        ({"t": "1"}, ["a", "b"]),
        ({"t": "1", 'k "é\\.': "x"}, ["b"]),
        ({"t": ""}, []),
        ({"u": "1"}, []),
    ],
)
def test_agents_with_tags(rows: Rows, tags: dict[str, str], expected: list[str]) -> None:
    """Only agents are listed that have all tags, with these values."""
    stored: list[dict[str, str]] = [{"t": "1"}, {"t": "1", 'k "é\\.': "x"}, {"t": "2"}]
    for row, (name, own) in enumerate(zip("abc", stored, strict=True), 1):
        rows.agent(row, name)
        rows.connection.execute("UPDATE agents SET tags = ? WHERE id = ?", (json.dumps(own, ensure_ascii=False), row))

    assert (expected, False) == names(rows, Listing(Agents(tags=tags)))


def test_agents_that_are_accepted(rows: Rows) -> None:
    """A page is filled with agents that a function accepts, and goes on after the last of them."""
    for row, name in enumerate("abcd", 1):
        rows.agent(row, name)
    listing = Listing(Agents(limit=2, order="updated"), accepts=lambda labels: labels != "c\n")

    assert (["d", "b"], True) == names(rows, listing)
    assert (["a"], False) == names(rows, listing._replace(asked=listing.asked._replace(after=f"{2:032x}")))


_PIECES = st.sampled_from(["aB", "É", "=", '"', "\\", " ", "\n", "\0", "ß", "\u212a", "k"])
_LABELS = st.lists(_PIECES, max_size=4).map("".join)


@pytest.mark.slow
@given(title=_LABELS, tags=st.dictionaries(_LABELS, _LABELS, max_size=2), query=_LABELS)
def test_agents_that_sqlite_passes_over(title: str, tags: dict[str, str], query: str) -> None:
    """What SQLite looks for before an agent is looked at closely is in every agent that is accepted."""
    accepts, pieces = label_filter(query)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        prepare(connection, ":memory:")
        Rows(connection).agent(1, "a")
        stored = (title, json.dumps(tags, ensure_ascii=False))
        connection.execute("UPDATE agents SET title = ?, tags = ?", stored)
        found, thorough = (
            agents(connection, Listing(accepts=accepts, pieces=some), pack).items for some in (pieces, ())
        )

    assert thorough == found


@pytest.mark.parametrize(
    ("title", "tags", "labels"),
    [(None, {}, "a\n"), ("T", {}, "a\nT"), ("T", {"k": 'é"', "l": ""}, 'a\nT\nk=é"\nl=')],
)
def test_labels_of_an_agent(rows: Rows, title: str | None, tags: dict[str, str], labels: str) -> None:
    """What is accepted or not is the name, the title and the tags, a line each."""
    rows.agent(1, "a")
    rows.connection.execute("UPDATE agents SET title = ?, tags = ?", (title, json.dumps(tags, ensure_ascii=False)))
    seen: list[str] = []
    agents(rows.connection, Listing(accepts=lambda given: not seen.append(given)), pack)  # type: ignore[func-returns-value]

    assert [labels] == seen


@pytest.mark.parametrize(("room", "expected"), [(1, ["a"]), (2500, ["a", "b"]), (3600, ["a", "b", "c"])])
def test_page_of_agents_has_so_many_bytes(rows: Rows, room: int, expected: list[str]) -> None:
    """It ends before the agent that does not fit any more; one comes at least."""
    for row, name in enumerate("abc", 1):
        rows.agent(row, name)
    rows.connection.execute("UPDATE agents SET tags = ?", (json.dumps({"t": "x" * 1000}),))

    assert (expected, len(expected) < 3) == names(rows, Listing(Agents(max_bytes=room)))


def test_details_of_an_empty_agent(rows: Rows) -> None:
    """Nobody has spoken, so it is nobody's turn."""
    rows.agent(1)
    rows.event(1, "created", None, "{}")
    rows.event(1, "system", "Be brief.")

    assert [0, None, None, None, ["nvim", None]] == details(rows, "messages", "first_words", "said", "turn", "drafts")


def test_details_are_about_the_current_conversation(rows: Rows) -> None:
    """What was cleared does not count, nor do prompts and marks; first words are those of a user."""
    rows.agent(1)
    rows.event(1, "user", "cleared")
    rows.event(1, "clear", None, parent=None)
    rows.event(1, "system", "Be brief.")
    rows.event(1, "assistant", "I am here.")
    rows.event(1, "user", "x" * 300)
    rows.event(1, "mark", None, "{}")
    rows.event(1, "usage", None, "{}")

    assert [2, "x" * 200, "assistant"] == details(rows, "messages", "first_words", "turn")


@pytest.mark.parametrize(("sent", "said"), [(None, 1002), (5, 5)])
def test_when_the_newest_message_was_said(rows: Rows, sent: int | None, said: int) -> None:
    """An imported one as its source says, any other when it was added; what is no message does not count."""
    rows.agent(1)
    rows.event(1, "user", "hi", sent=9)
    rows.event(1, "assistant", "ho", sent=sent)
    rows.event(1, "usage", None, "{}")

    assert [said] == details(rows, "said")


@pytest.mark.parametrize(
    ("kind", "data_json", "turn"),
    [
        ("user", None, "assistant"),
        ("assistant", None, "user"),
        ("assistant", '{"blocks":[{"type":"text","text":"tool_call"}]}', "user"),
        ("assistant", '{"blocks":[{"type":"text"},{"type":"tool_call"}]}', "tool"),
        ("assistant", '{"blocks":7}', "user"),
        ("assistant", '{"blocks":["tool_call",7,null]}', "user"),
        ("assistant", "not JSON", "user"),
        ("tool_call", "{}", "tool"),
        ("tool_result", "{}", "assistant"),
    ],
)
def test_turn_after_the_newest_message(rows: Rows, kind: str, data_json: str | None, turn: str) -> None:
    """A call waits for a tool, a question or a result for the assistant, and an answer for the user."""
    rows.agent(1)
    rows.event(1, kind, "hi", data_json)

    assert [turn] == details(rows, "turn")


def test_details_of_a_damaged_message(rows: Rows) -> None:
    """The text of a message that changed on the disk is not shown."""
    rows.agent(1)
    rows.event(1, "user", "hi")
    rows.unlock()
    rows.connection.execute("UPDATE events SET content = 'ho'")

    assert [1, None] == details(rows, "messages", "first_words")


def test_details_of_a_long_conversation(rows: Rows) -> None:
    """Only the newest messages are counted, marks do not take the place of any, and the first words are the first."""
    rows.agent(1)
    for number in range(MOST_MESSAGES + 1):
        rows.event(1, "user", str(number))
        rows.event(1, "mark", None, "{}")

    assert [MOST_MESSAGES, "0"] == details(rows, "messages", "first_words")


@pytest.mark.file
@pytest.mark.parametrize(
    ("parent", "messages", "first_words"),
    [(2, 3, "a"), (1, 2, None), (4, 2, None), (5, 2, None), (99, 2, None)],
)
def test_details_after_a_parent_that_changed(rows: Rows, parent: int, messages: int, first_words: str | None) -> None:
    """Nothing of another conversation is counted or shown, and the walk ends."""
    rows.agent(1)
    rows.agent(2)
    rows.event(2, "user", "of another")
    for text in "abcd":
        rows.event(1, "user", text)
    rows.unlock()
    rows.connection.execute("PRAGMA foreign_keys = OFF")
    rows.connection.execute("UPDATE events SET parent = ? WHERE id = 4", (parent,))

    assert [messages, first_words] == details(rows, "messages", "first_words")


def test_details_of_a_clone(rows: Rows) -> None:
    """The messages of its source are its own as well."""
    rows.agent(1)
    question = rows.event(1, "user", "What is a tape deck?")
    rows.agent(2, source=1, at=1)
    rows.event(2, "clone", None, "{}", parent=question)
    (_, clone) = agents(rows.connection, Listing(drafts={}), pack).items

    assert {"messages": 1, "first_words": "What is a tape deck?", "turn": "assistant", "drafts": []}.items() <= (
        unpackb(clone).items()
    )


@pytest.mark.parametrize(
    "metadata", [{"compacted": True}, {"provider": "reel"}, {"provider": "reel", "summarized_by": "gpt-5"}]
)
def test_details_after_summaries(rows: Rows, metadata: dict[str, Any]) -> None:
    """A conversation is about what a person said first, whatever summary has taken its place, in a clone as well."""
    data = json.dumps({"provider_metadata": metadata})
    rows.agent(1)
    rows.event(1, "system", "Be brief.")
    question = rows.event(1, "user", "What is a tape deck?")
    for number in range(2):
        rows.event(1, "rewind", None, json.dumps({"before": question}), parent=None)
        rows.event(1, "system", "Be brief.")
        summary = rows.event(1, "user", f"Summary {number}", data)
    rows.agent(2, source=1, at=summary)
    rows.event(2, "clone", None, "{}", parent=summary)
    found = [unpackb(agent)["first_words"] for agent in agents(rows.connection, Listing(drafts={}), pack).items]

    assert ["What is a tape deck?"] * 2 == found


@pytest.mark.parametrize(
    ("data_json", "words"),
    [(None, "anew"), ('{"provider_metadata":{"provider":"x"}}', "anew"), ('{"provider_metadata":7}', "anew")],
)
def test_details_after_another_first_message(rows: Rows, data_json: str | None, words: str) -> None:
    """What a person put in the place of the first message is what the conversation is about."""
    rows.agent(1)
    rows.event(1, "user", "before")
    rows.event(1, "rewind", None, '{"before":1}', parent=None)
    rows.event(1, "user", words, data_json)

    assert [words] == details(rows, "first_words")


@pytest.mark.parametrize("before", [[], [("assistant", "ho"), ("rewind", None)]])
def test_details_of_a_summary_of_nothing_known(rows: Rows, before: list[tuple[str, str | None]]) -> None:
    """A summary is all there is to show if no person said anything before it in the log."""
    rows.agent(1)
    for kind, text in before:
        rows.event(1, kind, text, parent=None)
    rows.event(1, "user", "Summary", '{"provider_metadata":{"compacted":true}}')

    assert ["Summary"] == details(rows, "first_words")


def listed_values(rows: Rows) -> list[Any]:
    """Return what a list has of the values of each agent: the keys, the data, and where the rest begins."""
    found = [unpackb(agent) for agent in agents(rows.connection, Listing(Agents(state=True)), pack).items]
    return [([(v["key"], v["data_json"]) for v in agent["values"]], agent.get("next")) for agent in found]


def test_values_of_each_agent(rows: Rows) -> None:
    """The newest value of each key is listed, one that was removed is not; a clone has those that it took over."""
    rows.agent(1)
    rows.event(1, "state", "a", '{"value":1}')
    rows.event(1, "state", "b", '{"value":2}')
    rows.agent(2, source=1, at=2)
    rows.event(1, "state", "a", '{"value":3}')
    rows.event(2, "state", "b", None)
    rows.agent(3)

    a1, b2, a3 = ("a", '{"value":1}'), ("b", '{"value":2}'), ("a", '{"value":3}')
    assert [([a3, b2], None), ([a1], None), ([], None)] == listed_values(rows)


@pytest.mark.parametrize(("count", "size", "listed"), [(1000, 1, 1000), (1001, 1, 1000), (3, 600_000, 1)])
def test_many_values_of_an_agent(rows: Rows, count: int, size: int, listed: int) -> None:
    """A list has at most 1,000 values of an agent and 1 MiB of them, and says after which key there are more."""
    rows.agent(1)
    for number in range(count):
        rows.event(1, "state", f"{number:04}", f'{{"value":"{"x" * size}"}}')

    ((values, following),) = listed_values(rows)
    assert (listed, None if listed == count else f"{listed - 1:04}") == (len(values), following)


def test_agents_with_very_many_tags(rows: Rows) -> None:
    """As many tags as an agent may have are looked for; each counts."""
    tags = {f"tag{number}": "" for number in range(3000)}
    for row, of_agent in enumerate((tags, tags | {"tag2999": "other"}), 1):
        rows.agent(row)
        rows.connection.execute("UPDATE agents SET tags = ? WHERE id = ?", (json.dumps(of_agent), row))

    assert (["agent-1"], False) == names(rows, Listing(Agents(tags=tags)))


def test_the_clones_of_one_agent(rows: Rows) -> None:
    """Only an agent's own clones are listed, page by page, and none for an id that nobody has."""
    rows.agent(1, "a")
    rows.agent(2, "b", source=1, at=0)
    rows.agent(3, "c", source=2, at=0)
    rows.agent(4, "d", source=1, at=0)

    assert (["b", "d"], False) == names(rows, Listing(Agents(source=f"{1:032x}")))
    assert (["b"], True) == names(rows, Listing(Agents(source=f"{1:032x}", limit=1)))
    assert (["d"], False) == names(rows, Listing(Agents(source=f"{1:032x}", after=f"{2:032x}")))
    assert ([], False) == names(rows, Listing(Agents(source="nobody")))


def test_directories(rows: Rows) -> None:
    """Agents are listed that were begun in one of some directories, or below one."""
    cwds = ("/a", "/a/b", "/ab", "/é", None, "/x/a")
    for row, cwd in enumerate(cwds, 1):
        rows.agent(row, str(cwd))
        tags = {"title": "/a"} if cwd is None else {"cwd": cwd}
        rows.connection.execute("UPDATE agents SET tags = ? WHERE id = ?", (json.dumps(tags, ensure_ascii=False), row))

    assert (["/a", "/a/b"], False) == names(rows, Listing(Agents(dirs=["/a/"])))
    assert (["/a/b", "/é"], False) == names(rows, Listing(Agents(dirs=["/é", "/a/b"])))
    assert (["/a"], True) == names(rows, Listing(Agents(dirs=["/a"], limit=1)))
    assert 5 == len(names(rows, Listing(Agents(dirs=["/"])))[0])
