"""Where the words of a query are in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.search.marks import Form, marks

TEXTS = st.text() | st.text("aBéß修한ท🎉 _.-/3\u0301\u200dAb", max_size=40)


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("Say HELLO", ("hello",), ["HELLO"]),
        ("hello hellos", ("hello",), ["hello"]),
        ("die Größe zählt", ("grosse",), ["Größe"]),
        ("Straße ßß Größe", ("grosse",), ["Größe"]),
        ("e\u0301te\u0301 ici", ("ici",), ["ici"]),
        ("e\u0301te\u0301 ici", ("ete",), ["e\u0301te\u0301"]),
        ("5 ½", ("1",), ["½"]),
        ("请修复auth模块", ("修", "复"), ["修复"]),
        ("请修复auth模块", ("auth",), ["auth"]),
        ("a.b-c", ("b", "c"), ["b-c"]),
        ("getUserName", ("user",), ["User"]),
        ("⚠\ufe0f ½ getUserName ½", ("user",), ["User"]),
        ("½½ parseURL", ("url",), ["URL"]),
        ("get_user_name", ("username",), ["user_name"]),
        ("getUserName()", ("getuser",), ["getUser"]),
        ("--dry-run", ("dryrun",), ["dry-run"]),
        ("“quoted” — dash", ("quoted",), ["quoted"]),
        ("tape", ("deck",), []),
    ],
)
def test_marks(text: str, words: tuple[str, ...], expected: list[str]) -> None:
    """A mark is around what was written, in whatever spelling it is found."""
    assert expected == [text[mark.begin : mark.end] for mark in marks(text, [[Form(words)]])]


def test_prefixes() -> None:
    """A prefix marks the whole word."""
    assert [(4, 10, 0)] == marks("say Valida.", [[Form(("val",), is_prefix=True)]])


@given(text=TEXTS, word=st.text("ab修e", min_size=1, max_size=3))
def test_places(text: str, word: str) -> None:
    """Each mark is in the text, and marks are in order."""
    found = marks(text, [[Form((word,))], [Form((word,), is_prefix=True)]])

    assert sorted(found) == found
    assert all(0 <= mark.begin < mark.end <= len(text) for mark in found)
