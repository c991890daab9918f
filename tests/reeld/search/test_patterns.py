"""Pieces of text and regular expressions: what they match, and which are refused."""

import pytest

from reel.base.errors import InvalidParams
from reeld.search import patterns
from reeld.search.patterns import Pattern, compiled, having
from reeld.search.query import TypedPattern, parse_query
from reeld.search.snippets import snippet
from tests.patience import PATIENCE


def pattern(query: str) -> Pattern:
    """Return the only pattern of a query."""
    (found,) = compiled(parse_query(query).patterns)
    return found


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (r"/get\w+Name/ tape", [TypedPattern(r"get\w+Name", 1, is_regex=True)]),
        ("tape -/a b/", [TypedPattern("a b", 7, is_regex=True, is_excluded=True)]),
        (r"/a\/b/", [TypedPattern(r"a\/b", 1, is_regex=True)]),
        ('has:erNa -has:"a  b"', [TypedPattern("erNa", 4), TypedPattern("a  b", 15, is_excluded=True)]),
        ("/usr/local/bin/ a/b/c / // x/y/", []),
        ("has:", []),
        ("has:a " * 20, [TypedPattern("a", 6 * number + 4) for number in range(8)]),
    ],
)
def test_what_is_a_pattern(query: str, expected: list[TypedPattern]) -> None:
    """A slash begins an expression that ends with the next one; a path of several parts is none."""
    assert expected == list(parse_query(query).patterns)


def test_words_beside_a_pattern() -> None:
    """A pattern is no word, and what stands beside it is what it was; a path is a phrase."""
    assert [("tape",), ("usr", "bin")] == [term.phrases[0] for term in parse_query("/a b/ tape /usr/bin").terms]
    assert ["deck"] == [term.phrases[0][0] for term in parse_query("has:x -deck").excluded]


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("has:etusern", "x getUserName", [(3, 10)]),
        ('has:"a + b"', "A + B; a+b", [(0, 5)]),
        ("has:.*", "a.b", []),
        ("has:ř", "PŘÍ", [(1, 2)]),
        ("/tape deck/", "a Tape Deck", [(2, 11)]),
        ("has:ΟΔΟΣ", "\u0130 οδος", [(2, 6)]),
        ("has:5\u00b5s", "5ms, 5\u03bcs", [(5, 8)]),
        ("/5\u03bcs/", "5\u00b5\u017f", [(0, 3)]),
    ],
)
def test_pieces_of_text(query: str, text: str, expected: list[tuple[int, int]]) -> None:
    """A piece of text is found as it is, in either case; an expression without signs is one."""
    assert expected == pattern(query).marked(text)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("/^b/", [1, 2]),
        ("/a$/", [0, 2]),
        (r"/\Ab/", [1, 2]),
        (r"/a\z/", [0, 2]),
        (r"/(?m)^b/", [1, 2]),
        (r"/a[^x]b/", [2]),
        (r"/\[^b/", []),
        (r"/x|[]^]?b/", [1, 2]),
        (r"/\bb\b/", [1, 2]),
        (r"/\Bb/", []),
        (r"/\\C/", []),
        ("-/b/", [0]),
        ("has:a", [0, 2]),
    ],
)
def test_texts_together(query: str, expected: list[int]) -> None:
    """Texts may be looked at together: each begins and ends where it did, and a match is in one of them."""
    assert expected == having([pattern(query)], list(enumerate(["a", "b", "b\na\nb\na"])))


def test_a_piece_that_is_almost_everywhere() -> None:
    """A piece that fits at each place but for its end takes a time that grows with the text alone."""
    assert not pattern(f"has:{'a' * 999}b").accepts("a" * 1_000_000)


def test_a_negative_one() -> None:
    """With a minus, texts without the piece match, and nothing is marked."""
    assert pattern("-has:x").accepts("abc")
    assert not pattern("-has:x").accepts("axc")
    assert [] == pattern("-has:x").marked("axc")


def test_a_snippet_is_around_a_match() -> None:
    """The piece of a text that is shown has the match."""
    shown = snippet(f"{'word ' * 200}x{'word ' * 200}", [], 40, [pattern("has:xw").marked(f"{'word ' * 200}xword")])

    assert "xw" == shown.text[slice(*shown.matches[0])]


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expression says what is missing, and what needs nothing; one without signs needs nothing either."""

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(patterns, "import_module", missing)

    with pytest.raises(InvalidParams, match=r"no google-re2, .*has:TEXT instead, or install it .*: .*regex"):
        pattern("/a+/")
    assert pattern("/usr/").accepts("USR")


class TestExpressions:
    """With the library."""

    @pytest.fixture(autouse=True)
    def _library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("re2", reason="google-re2 is not installed")
        monkeypatch.setattr(patterns, "_MARKING", PATIENCE)

    @pytest.mark.parametrize(
        ("query", "text", "expected"),
        [
            (r"/get\w+Name/", "é getUserName getusername", [(2, 13), (14, 25)]),
            (r"/(?-i)get\w+Name/", "GETUSERNAME", []),
            (r"/\bx\b|y$/", "x xy", [(0, 1), (3, 4)]),
            ("/z*/", "aazz", [(2, 4)]),
            ("/[ж-я]+/", "mixed Слово", [(6, 9), (10, 11)]),
        ],
    )
    def test_what_matches(self, query: str, text: str, expected: list[tuple[int, int]]) -> None:
        """Places are in characters; case is ignored unless the expression says otherwise."""
        assert expected == pattern(query).marked(text)

    @pytest.mark.parametrize(
        ("query", "at", "why"),
        [
            ("tape /a(b/", 7, r"missing \)"),
            ("/a[z-b]/", 4, "invalid character class range, at character 4 of the query: z-b"),
            (r"/ab\C/", 4, r"has a byte, .* at character 4 of the query: \\C"),
            (r"/(a)\1/", 5, "invalid escape sequence"),
            ("/x(?=y)/", 3, "invalid perl operator"),
            ("/((a{30}){30}){30}/", 2, "invalid repetition size"),
            ("/(?:[ab]?){900}c/", 2, "too large: it has .* steps"),
            ("/" + r"\pL" * 333 + "/", 2, "pattern too large - compile failed"),
            (f"/{'(' * 50_000}/", 2, "has 50000 characters"),
            (f"/{'a|' * 25_000}/", 2, "has 50000 characters"),
            (f"has:{'x' * 50_000}", 5, "has 50000 characters"),
            ("/ü(/", 2, r"missing \)"),
        ],
    )
    def test_what_is_refused(self, query: str, at: int, why: str) -> None:
        """An expression that is none, that goes back, or that is too large is refused, with its place."""
        with pytest.raises(InvalidParams, match=why) as caught:
            pattern(query)

        assert at == caught.value.data["at"]
        assert len(caught.value.message) < 300

    @pytest.mark.parametrize(
        "query", ["/(a*)*b$/", "/(x+x+)+y/", "/(?:a|aa)+$/", "/[ab]*a[ab]{200}c/", "/(.*)(.*)(.*)z/"]
    )
    def test_no_way_back(self, query: str) -> None:
        """What takes ``re`` longer than the universe is old ends at once: the time grows with the text."""
        assert not pattern(query).accepts("x" * 10_000 + "ab" * 10_000 + "a" * 10_000 + "!")
