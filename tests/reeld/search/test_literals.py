"""What every text with a match of a pattern has: never too much, so that no text is passed over."""

import re
import sys
from collections import defaultdict
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.search.literals import Either, Needed, Run, folded, needed_of_any_expression, needed_of_expression
from reeld.search.patterns import compiled, having
from reeld.search.query import TypedPattern
from tests.thoroughness import FUZZ

HAS_RE2 = pytest.mark.skipif(find_spec("re2") is None, reason="google-re2 is not installed")


def holds(needed: Needed | None, text: str) -> bool:
    """Return whether a text has the letters that are needed, in either case."""
    if needed is None:
        return True
    if isinstance(needed, Run):
        return folded(needed.letters) in folded(text)
    return (any if isinstance(needed, Either) else all)(holds(part, text) for part in needed.parts)


def shown(needed: Needed | None) -> str | None:
    """Return what is needed as a text."""
    if needed is None or isinstance(needed, Run):
        return needed and needed.letters
    parts = [str(shown(part)) for part in needed.parts]
    return f"({' | '.join(parts)})" if isinstance(needed, Either) else " & ".join(parts)


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
        ("abcd", "abcd"),
        ("ABC", "ABC"),
        (r"get\w+Name", "get & Name"),
        ("abc+d", "abc & d"),
        ("abcd*e", "abc & e"),
        ("abcd{0,3}e", "abc & e"),
        ("abcd{2}e", "abcd & e"),
        ("(abc|def)g", "(abcg | defg)"),
        ("x((ab|c)d|e)f", "(xabdf | xcdf | xef)"),
        ("(abc|)def", "(abcdef | def)"),
        ("(|abc)", None),
        ("x(abc)+y", "xabc & y"),
        ("x(a|bc+)y", "x & (a | bc) & y"),
        ("(a|b)(c|d)(e|f)g", "(aceg | acfg | adeg | adfg | bceg | bcfg | bdeg | bdfg)"),
        ("x(a|b|c)(d|e|f)g", "(xa | xb | xc) & (d | e | f) & g"),
        ("(abc)?def", "def"),
        ("(?:abc)+", "abc"),
        ("(?P<x>abc)(?i)def", "abc & def"),
        ("abc(?i)*def", None),
        ("[abc]def[^]x]ghi", "def & ghi"),
        (r"[[:alpha:]]abc", "abc"),
        (r"\pLabc\x{41}def\x41ghi", "abc & def & ghi"),
        (r"a\.b\/c", "a.b/c"),
        ("^abc$", "abc"),
        ("x{abc}", "x{abc}"),
        ('a"b', 'a"b'),
        (r"\Qa|b\E", None),
        ("a.b|abc", "(a & b | abc)"),
        ("ab", "ab"),
        (".", None),
        ("(" * 9 + "abc" + ")" * 9, None),
        ("|".join(["abc"] * 17), None),
    ],
)
def test_expressions(expression: str, expected: str | None) -> None:
    """Letters that must be there are needed; what may be left out, and what is not followed, is not."""
    assert expected == shown(needed_of_expression(expression))


def test_no_letters_that_are_taken_for_the_same_differ() -> None:
    """Two letters that ``has:`` takes for the same are the same letters: all there are."""
    same: defaultdict[str, set[str]] = defaultdict(set)
    for letter in map(chr, range(sys.maxunicode + 1)):
        lower = letter.replace("\u0130", "i").lower().translate({0x3C2: "\u03c3", 0x17F: "s", 0xB5: "\u03bc"})
        if lower != letter or letter.upper() != letter:
            same[lower].add(folded(letter))

    assert [] == [letters for letters in same.values() if len(letters) > 1]


@HAS_RE2
def test_no_letters_that_an_expression_takes_for_the_same_differ() -> None:
    """Two letters that RE2 takes for the same are the same letters; ``make fuzz`` looks at all that have a case."""
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


@HAS_RE2
@given(expression=EXPRESSIONS.filter(bool), texts=st.lists(st.text(_LETTERS, max_size=8)), is_excluded=st.booleans())
def test_texts_that_are_looked_at_together(expression: str, texts: list[str], *, is_excluded: bool) -> None:
    """Of texts that are looked at together, the same ones are accepted as if each were alone."""
    (pattern,) = compiled([TypedPattern(expression, 1, is_regex=True, is_excluded=is_excluded)])

    accepted = [text for text in texts if pattern.accepts(text)]
    assert list(map(texts.index, accepted)) == [
        texts.index(texts[at]) for at in having([pattern], list(enumerate(texts)))
    ]
