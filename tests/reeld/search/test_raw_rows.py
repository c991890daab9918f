"""Which rows may have some letters: never one too few, and few too many."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.search.literals import Either, Every, Needed, Run, needed_of_expression
from reeld.search.raw_rows import condition_of
from reeld.search.texts import text_of

# Among them other cases of ASCII letters, what JSON escapes, and what LIKE takes for something else.
LETTERS = st.text(st.sampled_from('abkKsSiI\u017f\u212a\u0130é "\\/\n\0%_.[{,:01e-'), max_size=12)
NUMBERS = st.integers(-(10**6), 10**6) | st.sampled_from([1.5e300, 0.1, 1e22, -0.0])
VALUES = st.recursive(
    LETTERS | NUMBERS | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LETTERS, inner, max_size=3),
    max_leaves=4,
)
# JSON as one program or another writes it.
WRITTEN: st.SearchStrategy[Callable[[Any], str]] = st.sampled_from(
    [
        json.dumps,
        partial(json.dumps, ensure_ascii=False),
        partial(json.dumps, ensure_ascii=False, separators=(",", ":")),
        lambda value: json.dumps(value, indent=1).replace("/", "\\/"),
    ]
)


@st.composite
def rows(draw: st.DrawFn) -> tuple[str, str | None, str | None]:
    """Return the kind, the content and the data of an event that has a text."""
    write, text = draw(WRITTEN), draw(LETTERS)
    kind = draw(st.sampled_from(["user", "assistant", "tool_call", "tool", "note", "created", "system"]))
    if kind in ("system", "user") or (kind == "assistant" and draw(st.booleans())):
        return kind, text, None
    data: dict[str, Any]
    arguments = draw(WRITTEN)(draw(st.dictionaries(LETTERS, VALUES, max_size=3))) if draw(st.booleans()) else text
    call = {"type": "tool_call", "id": "1", "name": "sh", "arguments": arguments}
    if kind == "assistant":
        data = {"blocks": [{"type": "text", "text": text}, call]}
    elif kind == "tool_call":
        data = {"tool_call_id": "1", "name": "sh", "arguments": arguments}
    elif kind == "tool":
        data = {"blocks": [{"type": "tool_result", "tool_call_id": "1", "content": text}]}
    elif kind == "note":
        data = {"of": draw(VALUES)}
    else:
        data = {"name": "demo", "title": text}
    return kind, text if kind in ("note", "assistant") else "", write(data)


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    """Return a connection that runs conditions on rows."""
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


def holds(connection: sqlite3.Connection, needed: Needed | None, content: str | None, data_json: str | None) -> bool:
    """Return whether the condition for some letters is true of a row."""
    raw = condition_of([needed] if needed else [])
    if raw is None:
        return True
    query = f"SELECT EXISTS (SELECT 1 FROM (SELECT ? AS content, ? AS data_json) WHERE {raw.sql})"
    return bool(connection.execute(query, (content, data_json, *raw.values)).fetchone()[0])


@given(row=rows(), data=st.data())
def test_no_row_is_passed_over(
    connection: sqlite3.Connection, row: tuple[str, str | None, str | None], data: st.DataObject
) -> None:
    """Whatever piece of a text is looked for, in either case, its row is among those that may have it."""
    text = text_of(*row)
    begin = data.draw(st.integers(0, len(text)))
    piece = text[begin : begin + data.draw(st.integers(0, 9))]
    if data.draw(st.booleans()):
        piece = piece.translate(str.maketrans("aAkKsSiI\u017f\u212a", "AaKkSsIisk"))

    assert holds(connection, Run(piece), row[1], row[2])


@given(row=rows(), data=st.data())
def test_no_row_is_passed_over_for_its_order(
    connection: sqlite3.Connection, row: tuple[str, str | None, str | None], data: st.DataObject
) -> None:
    """Several pieces that are one behind the other in a text are so in its row, or nothing is said of their order."""
    text, at, parts = text_of(*row), 0, list[Needed]()
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(at, len(text)))
        at = data.draw(st.integers(begin, len(text)))
        parts.append(Either((Run(text[begin:at]), Run("zz"))) if data.draw(st.booleans()) else Run(text[begin:at]))

    assert holds(connection, Every(tuple(parts)), row[1], row[2])


@pytest.mark.parametrize(
    ("expression", "found", "other"),
    [
        ("tape", "a TAPE deck", "a tap"),
        ("kissed", "\u212a\u0130\u017fsed", "basis"),
        (r"get\w+Name", "getUserName", "get user"),
        ("(tape|reel)s?", "a reel", "a deck"),
        ("(tape|reel)s and (bands|decks)", "tapes and decks", "tapes and cards"),
        ("50%_of", "50%_of", "50 out"),
        ("1e5 tapes", "1e5 tapes", "1e5 decks"),
        ("tape.*(with|and).*deck", "a tape with a deck", "a tape with a reel"),
    ],
)
def test_rows(connection: sqlite3.Connection, expression: str, found: str, other: str) -> None:
    """Rows without the letters are passed over, whether they are in the content or in the data."""
    needed = needed_of_expression(expression)

    for text, expected in ((found, True), (other, False)):
        assert expected == holds(connection, needed, text, None)
        assert expected == holds(connection, needed, None, json.dumps({"title": text}, ensure_ascii=False))


def test_order(connection: sqlite3.Connection) -> None:
    """Letters in another order are in no match, unless they are in data, which may be read in another order."""
    needed = needed_of_expression("tape.*deck")

    for text, expected in (("a tape deck", True), ("a deck, a tape", False)):
        assert expected == holds(connection, needed, text, None)
        assert holds(connection, needed, text, "{}")
        assert holds(connection, needed, None, json.dumps({"title": text}))


@pytest.mark.parametrize(
    ("kind", "content", "data_json"),
    [
        ("created", None, r'{"title": "\u003chtml\u003e"}'),
        ("note", "", r'{"of": "\u003chtm\u006c>"}'),
        ("user", "behind a NUL: \0 <html>", None),
    ],
)
def test_rows_that_are_written_differently(
    connection: sqlite3.Connection, kind: str, content: str | None, data_json: str | None
) -> None:
    """Where JSON has escapes of letters, or a text a NUL, the row may have any letters."""
    assert "<html>" in text_of(kind, content, data_json)
    assert holds(connection, Run("<html>"), content, data_json)


@pytest.mark.parametrize("expression", ["a", "kiss", "1e5", "100000.0", "a/b", "éèà", r"a\d+b", "(tape|a)"])
def test_all_rows(expression: str) -> None:
    """What is short, what may be a number, and what JSON may escape tells nothing."""
    needed = needed_of_expression(expression)

    assert needed is None or condition_of([needed]) is None
