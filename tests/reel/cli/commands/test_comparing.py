"""``reel diff``."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.cli.commands.diff import lines, text_of
from reel.reading.difference import Compared, Hunk, compare
from reel.reading.positions import FromEnd, split_name
from reel.sync.client import Client
from tests.reel.cli.conftest import Reel


def said(texts: str) -> list[Compared]:
    """Return a message for each character."""
    return [Compared(seq, "user", [{"type": "text", "text": text}]) for seq, text in enumerate(texts, 1)]


def words(hunks: list[Hunk]) -> list[tuple[str, int]]:
    """Return the signs, and how many messages each hunk has."""
    return [(hunk.sign, len(hunk.messages)) for hunk in hunks]


TEXTS = st.text("abc", max_size=12)


@given(TEXTS, TEXTS)
def test_every_message_is_there_once(first: str, second: str) -> None:
    """What is common and what only one has make up that one; a conversation does not differ from itself."""
    hunks = compare(said(first), said(second))

    assert sum(len(found.messages) for found in hunks if found.sign in "=-") == len(first)
    assert sum(len(found.messages) for found in hunks if found.sign in "=+") == len(second)
    assert all(found.sign == "=" for found in hunks) == (first == second)


def test_two_moments(reel: Reel, client: Client, name: str) -> None:
    """A rewound conversation is compared with what it was; the name of an agent may have an @."""
    client.create(f"{name}@3")
    client.add(f"{name}@3", ["same", "this", "more"])
    client.add(f"{name}@3", "that", from_=3)

    ran = reel("diff", f"{name}@3@4", f"{name}@3")

    assert (
        1,
        ["  1 message in common", "- #3 user", "-   this", "- #4 user", "-   more", "+ #6 user", "+   that"],
    ) == (ran.status, ran.out.splitlines())
    assert ["=", "-", "+"] == [found["op"] for found in reel("diff", f"{name}@3@4", f"{name}@3", "--json").documents]
    same = reel("diff", f"{name}@3", f"{name}@3@last")
    assert (0, "", "") == (same.status, same.out, same.err)
    assert 2 == reel("diff", f"{name}@3", f"{name}@tuesday").status


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("demo@12", ("demo", 12)),
        ("demo@#0", ("demo", 0)),
        ("a@b@last", ("a@b", FromEnd(0))),
        ("demo@~2", ("demo", FromEnd(2))),
        ("demo", None),
        ("demo@", None),
        ("demo@x", None),
        ("@3", None),
    ],
)
def test_names_with_a_position(word: str, named: Any) -> None:
    """The position comes after the last @."""
    assert split_name(word) == named


def test_what_comes_later_is_common_again() -> None:
    """Equal messages after a difference are folded as well."""
    assert [("=", 1), ("-", 1), ("+", 1), ("=", 2)] == words(compare(said("abcd"), said("axcd")))


def test_a_prompt_is_not_a_message() -> None:
    """What both have names the system prompt by itself."""
    prompt = Compared(None, "system", [])

    assert [[("  the system prompt and 1 message in common", "dim")]] == [
        *lines([Hunk("=", [prompt, *said("a")])], None)
    ]
    assert [[("  the system prompt in common", "dim")]] == [*lines([Hunk("=", [prompt])], None)]


def test_long_messages_are_cut() -> None:
    """Three lines of a message are shown, no wider than the screen."""
    shown = lines([Hunk("+", [Compared(None, "system", [{"type": "text", "text": "a" * 99 + "\nb\nc\nd\ne"}])])], 20)

    assert [
        "+ system",
        "+   " + "a" * 15 + "…",
        "+   b",
        "+   c",
        "+   … 2 more lines",
    ] == ["".join(str(span[0] if isinstance(span, tuple) else span) for span in line) for line in shown]


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "tool_call", "name": "look", "arguments": "{}"}, "look {}"),
        ({"type": "tool_result", "content": "found"}, "found"),
        ({"type": "tool_result", "content": [{"type": "text", "text": "found"}, {"type": "media"}]}, "found\n(media)"),
    ],
)
def test_blocks(block: dict[str, Any], text: str) -> None:
    """Calls, results and files have a line as well."""
    assert text_of(block) == text
