"""What every text with a match of a pattern has: never too much, so that no text is passed over."""

import re
import sys
from collections import defaultdict
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.search.literals import Needed, Run, folded, needed_of_any_expression, needed_of_expression, trigrams_of
from reeld.search.patterns import compiled
from reeld.search.query import TypedPattern
from tests.thoroughness import FUZZ

HAS_RE2 = pytest.mark.skipif(find_spec("re2") is None, reason="google-re2 is not installed")


def holds(needed: Needed | None, text: str) -> bool:
    """Return whether FTS5 would find a text: the expression with each trigram as a condition of Python."""
    trigrams = needed and trigrams_of(needed)
    if trigrams is None:
        return True
    letters = folded(text)
    found = re.sub(r'"((?:[^"]|"")*)"', lambda trigram: str(trigram[1].replace('""', '"') in letters), trigrams)
    return bool(eval(found.replace("AND", "and").replace("OR", "or")))


@pytest.mark.parametrize(
    "expression", [r"\u0041bcd", "abcd{,2}", r"abc\19", "[[:a:]x|y]abc", r"\N{DIGIT ONE}", r"\_abc"]
)
def test_expressions_that_engines_read_differently(expression: str) -> None:
    """Nothing is known of what means something else to another engine than RE2."""
    assert needed_of_any_expression(expression) is None
    assert needed_of_any_expression(r"get\w+\.Name") == needed_of_expression(r"get\w+\.Name")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("abcd", '"abc" AND "bcd"'),
        ("ABC", '"abc"'),
        (r"get\w+Name", '"get" AND "nam" AND "ame"'),
        ("abc+d", '"abc"'),
        ("abcd*e", '"abc"'),
        ("abcd{0,3}e", '"abc"'),
        ("abcd{2}e", '"abc" AND "bcd"'),
        ("(abc|def)g", '(("abc") OR ("def"))'),
        ("(abc|d)efg", '"efg"'),
        ("(abc)?def", '"def"'),
        ("(?:abc)+", '"abc"'),
        ("(?P<x>abc)(?i)def", '"abc" AND "def"'),
        ("[abc]def[^]x]ghi", '"def" AND "ghi"'),
        (r"[[:alpha:]]abc", '"abc"'),
        (r"\pLabc\x{41}def\x41ghi", '"abc" AND "def" AND "ghi"'),
        (r"a\.b\/c", '"a.b" AND ".b/" AND "b/c"'),
        ("^abc$", '"abc"'),
        ("x{abc}", '"x{a" AND "{ab" AND "abc" AND "bc}"'),
        ('a"b', '"a""b"'),
        (r"\Qa|b\E", None),
        ("a.b|abc", None),
        ("ab", None),
        ("(" * 9 + "abc" + ")" * 9, None),
        ("|".join(["abc"] * 17), None),
    ],
)
def test_expressions(expression: str, expected: str | None) -> None:
    """Letters that must be there are needed; what may be left out, and what is not followed, is not."""
    needed = needed_of_expression(expression)

    assert expected == (needed and trigrams_of(needed))


def test_pieces() -> None:
    """A long piece needs trigrams that are spread over it; a short one, and what is in no text, needs none."""
    needed = trigrams_of(Run("".join(map(chr, range(0x4E00, 0x4E00 + 1000)))))

    assert needed is not None
    assert 16 <= needed.count(" AND ") + 1 <= 18
    assert trigrams_of(Run("ab")) is None
    assert trigrams_of(Run("a\0\ud800bc")) is None


def test_no_letters_that_are_taken_for_the_same_differ() -> None:
    """Two letters that ``has:`` takes for the same have the same trigrams: all there are."""
    same: defaultdict[str, set[str]] = defaultdict(set)
    for letter in map(chr, range(sys.maxunicode + 1)):
        lower = letter.replace("\u0130", "i").lower().replace("\u03c2", "\u03c3")
        if lower != letter or letter.upper() != letter:
            same[lower].add(folded(letter))

    assert [] == [letters for letters in same.values() if len(letters) > 1]


@HAS_RE2
def test_no_letters_that_an_expression_takes_for_the_same_differ() -> None:
    """Two letters that RE2 takes for the same have the same trigrams; ``make fuzz`` looks at all that have a case."""
    cased = [letter for letter in map(chr, range(sys.maxunicode + 1)) if letter.lower() != letter.upper()]
    for letter in cased if FUZZ else ("s", "k", "K", "\u1e9e", *cased[::20]):
        (pattern,) = compiled([TypedPattern(f"{letter}+?", 1, is_regex=True)])
        others = {"".join(cased)[begin:end] for begin, end in pattern.matches("".join(cased))}
        assert {folded(letter)} == {folded(other) for other in others}


# Among them a long s, a Kelvin sign and a dotted I.
_LETTERS = st.sampled_from('abAB"\u017f\u212a\u0130ß.é修')
_ATOMS = st.one_of(
    st.text(_LETTERS, max_size=4).map(re.escape),
    st.sampled_from([".", r"\w", "[ab]", "[^]a]", r"\d", r"\b", "^", "$", r"\x61", "a{2}", "b{0}", "{a"]),
)
EXPRESSIONS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda some: f"({'|'.join(some)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{0,2}", "{2}", "+?"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=6,
)


@HAS_RE2
@given(expression=EXPRESSIONS.filter(bool), text=st.text(_LETTERS, max_size=12))
def test_no_match_is_passed_over(expression: str, text: str) -> None:
    """What an expression needs is in every text that it matches."""
    (pattern,) = compiled([TypedPattern(expression, 1, is_regex=True)])

    assert holds(needed_of_expression(expression), text) or not pattern.accepts(text)


@given(piece=st.text(_LETTERS, max_size=6), before=st.text(_LETTERS), behind=st.text(_LETTERS))
def test_no_piece_is_passed_over(piece: str, before: str, behind: str) -> None:
    """What a piece needs is in every text that has it, in either case."""
    for text in (piece, piece.upper(), piece.lower()):
        (pattern,) = compiled([TypedPattern(piece, 1)])
        said = before + text + behind
        assert holds(Run(piece), said) or not pattern.accepts(said)
