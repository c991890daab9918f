"""Which names the vocabulary has, and which of them a pattern may match in: never too few."""

import re
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.search import vocabulary
from reeld.search.names import are_lacked, pieces_of
from reeld.search.patterns import compiled
from reeld.search.query import TypedPattern
from reeld.search.words import indexed


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("getName", ["getname"]),
        (r"get\w+Name", ["get", "name"]),
        (r"\bget_\w*?_Name\b", ["get", "name"]),
        ("get_?user_name", ["getusername"]),
        ("users?Of[A-Z][a-z0-9_]+2", ["user", "of", "2"]),
        (r"abcd+e{2}f{0,3}g[\w]{3,}\d\Bx*", ["abcd", "e", "g"]),
        ("abc{12}d", ["abc", "d"]),
        (r"abc\d*" * 9, ["abc"] * 8),
        ("get.Name", []),
        (r"get\s+Name", []),
        (r"get\.Name", []),
        ("get[^x]Name", []),
        ("get[A-z]Name", []),
        ("get[_-a]Name", []),
        ("get[a-z-]Name", []),
        ("get(Name)", []),
        ("get|Name", []),
        ("^getName", []),
        ("getN\u00e4me", []),
        ("getName{", []),
        ("getName{\u0660}Of", []),
        (r"ab\w+cd", []),
        (r"12345\d", []),
        ("x{0}", []),
        ("", []),
    ],
)
def test_pieces(expression: str, expected: list[str]) -> None:
    """All that a name must have is known of an expression that matches within names only."""
    assert tuple(expected) == pieces_of(expression)


@pytest.mark.parametrize(
    ("text", "lacked"),
    [
        ("get the user's name, 12345678 times", False),
        ("get_user_name(getUserName) # __init__, some-words-or-other", False),
        ("a_1", False),
        ("a name of 41 letters: " + 41 * "a", True),
        ("3f2a9c1b", True),
        ("abc12345", True),
        ("utf8_mode", True),
        ("a_b_c_d_e_f_g_h_i", True),
        ("9_to_five", True),
        ("a-b_c", False),
        ("a-b_c_d_e", True),
        ("_".join(["abcdef"] * 8), True),
        ("ma\u017fk_of", True),
        ("a\u0130_b", True),
        ("data: " + 300 * "a", True),
        ("\u00e9t\u00e9 \u043c\u0438\u0440", False),
    ],
)
def test_what_is_lacked(text: str, *, lacked: bool) -> None:
    """The vocabulary has all names but those that it does not count, and those whose parts are not joined."""
    assert lacked == are_lacked(text, indexed(text))


# Parts of an expression, and what each may match: a long s, a Kelvin sign and a dotted I are among them.
_LETTERS = "aAbBkKsSiI12_\u017f\u212a\u0130"
_ANY = st.text(_LETTERS, min_size=1, max_size=4)
_PARTS = st.one_of(
    st.sampled_from(["aB", "k_s", "iK", "abs1", "s_", "12"]).flatmap(
        lambda letters: st.tuples(
            st.just(letters), st.sampled_from([letters, letters.upper(), letters.replace("s", "\u017f")])
        )
    ),
    st.tuples(st.sampled_from([r"\w+", r"\w*", "[a-z_0-9]+?", r"[A-Z\d]*"]), _ANY),
    st.tuples(st.sampled_from(["x?", "_*", "b{0,2}"]), st.sampled_from(["", "x", "__", "bb"])),
    st.tuples(st.just("a{2}"), st.just("aA")),
    st.tuples(st.sampled_from([r"\b", r"\B"]), st.just("")),
)
_AROUND = st.text(st.sampled_from(f"{_LETTERS}--.   \u00e9\u0301\u2122\u0e01\u00bd\u05b0"), max_size=12)


@pytest.mark.skipif(find_spec("re2") is None, reason="google-re2 is not installed")
@given(parts=st.lists(_PARTS, min_size=1, max_size=5), before=_AROUND, behind=_AROUND, is_regex=st.booleans())
def test_a_text_with_a_match_has_such_a_word(
    parts: list[tuple[str, str]], before: str, behind: str, *, is_regex: bool
) -> None:
    """Whatever matches within a name, the vocabulary has a word with its pieces, unless it lacks a name of the text."""
    expression, matched = ("".join(some) for some in zip(*parts, strict=True))
    text = before + matched + behind
    (pattern,) = compiled([TypedPattern(expression if is_regex else matched, 1, is_regex=is_regex)])
    prepared = indexed(text)
    if pattern.in_name and not are_lacked(text, prepared) and pattern.is_in(text):
        words = {word for column in prepared for word in vocabulary.tokens(column) if vocabulary.is_counted(word)}
        assert any(re.search(".*".join(pattern.in_name), word) for word in words)
