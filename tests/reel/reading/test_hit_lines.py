"""The lines of hits, and what is looked for in a message."""

from typing import Any

import pytest

from reel.reading.hit_lines import context, hit_lines, in_groups


def hit(agent: str, seq: int = 2, **fields: Any) -> dict[str, Any]:
    """Return a hit of a user's message, 90 seconds old."""
    found = {"agent": agent, "name": f"name of {agent}", "title": None, "seq": seq, "role": "user", "kind": "user"}
    return {**found, "time": 10_000, "live": True, "snippet": "a tape", "matches": [[2, 6]], **fields}


def test_the_lines_of_hits() -> None:
    """The hits of each conversation are below its name, each in two lines, with what each text is."""
    hits = in_groups([hit("a"), hit("b", title="T", live=False, role=None, kind="note"), hit("a", 5, sent=99_000)])

    assert [
        ([("name of a", "name"), ("", "")], 0),
        ([("  #2  ", ""), ("user", "user"), ("  1m", "note")], 0),
        ([("    ", ""), ("a ", ""), ("tape", "match"), ("", "")], 0),
        ([("  #5  ", ""), ("user", "user"), ("  1s", "note")], 1),
        ([("    ", ""), ("a ", ""), ("tape", "match"), ("", "")], 1),
        ([], None),
        ([("name of b", "name"), ("  T", "")], 2),
        ([("  #2  ", ""), ("note", "note"), ("  1m  not in the conversation", "note")], 2),
        ([("    ", ""), ("a ", ""), ("tape", "match"), ("", "")], 2),
    ] == list(hit_lines(hits, None, 100))


def test_a_page_that_goes_on_does_not_repeat_the_name() -> None:
    """The name of the conversation above is not repeated; another one has a blank line above it."""
    assert "  #2  " == next(hit_lines([hit("a")], "a", 100)).spans[0][0]
    assert [] == next(hit_lines([hit("a")], "b", 100)).spans


def test_text_of_others_is_on_one_line() -> None:
    """A line break, a control character or a mark that turns the text around is a blank; the places stay."""
    (name, _, snippet) = hit_lines([hit("a", name="x\ny", snippet="\x1b\u202etape\r", matches=[[2, 6]])], None, 100)

    assert "x y" == name.spans[0][0]
    assert ["    ", "  ", "tape", " "] == [text for text, _ in snippet.spans]


@pytest.mark.parametrize(
    ("snippet", "match", "expected"),
    [
        ("one\na tape deck\ntwo", [6, 10], ["a ", "tape", " deck"]),
        ("a tape\r\ndeck", [2, 12], ["a ", "tape", ""]),
        ("tape", [0, 4], ["", "tape", ""]),
    ],
)
def test_the_context_of_a_match(snippet: str, match: list[int], expected: list[str]) -> None:
    """It is the line around the first match, and of a match over several lines the first of them."""
    assert expected == context(hit("a", snippet=snippet, matches=[match]))


def test_a_hit_without_a_match_has_no_context() -> None:
    """A hit that was only filtered for has nothing to look for."""
    assert context(hit("a", matches=[])) is None
