"""Arguments that arrive in pieces are assembled, each piece at its path."""

from typing import Any

import pytest

from reel.streams.gemini import Gemini
from tests.reel.streams.samples.google import candidate


def piece(*partial: dict[str, Any], goes_on: bool = True, **head: Any) -> dict[str, Any]:
    """Make a chunk with a piece of a call."""
    more = {"willContinue": True} if goes_on else {}
    return candidate({"functionCall": {**head, **({"partialArgs": list(partial)} if partial else {}), **more}})


def parts(*chunks: dict[str, Any]) -> list[dict[str, Any]]:
    assembler = Gemini()
    for each in chunks:
        assembler.feed("", each)
    found: list[dict[str, Any]] = assembler.body()["candidates"][0]["content"]["parts"]
    return found


HEAD = piece(name="f", id="c1")
END = piece(goes_on=False)


def test_a_call_in_pieces() -> None:
    """Texts grow, other values arrive whole, and the next call is another part."""
    chunks = [
        HEAD,
        piece({"jsonPath": "$.city", "stringValue": "Os", "willContinue": True}),
        piece({"jsonPath": "$.city", "stringValue": "lo"}, {"jsonPath": "$.days", "numberValue": 3}),
        piece({"jsonPath": "$.rain", "boolValue": False}, {"jsonPath": "$.wind", "nullValue": "NULL_VALUE"}),
        END,
    ]

    assert [
        {"functionCall": {"name": "f", "id": "c1", "args": {"city": "Oslo", "days": 3, "rain": False, "wind": None}}},
        {"functionCall": {"name": "g", "id": "c2", "args": {}}},
        {"text": "x"},
    ] == parts(*chunks, piece(name="g", id="c2"), END, candidate({"text": "x"}))


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["$.a.b", "$.a.c"], {"a": {"b": "0", "c": "1"}}),
        (["$.a[0].b", "$.a[1].b"], {"a": [{"b": "0"}, {"b": "1"}]}),
        (["$.a[0]", "$.a[0]"], {"a": ["01"]}),
        (["$['a b']", '$["c.d"]'], {"a b": "0", "c.d": "1"}),
        ([r"$['it\'s']"], {"it's": "0"}),
        (["$.a[999999999]", "$.a[7]"], {"a": ["0", "1"]}),
        (["$.a", "$.a.b"], {"a": {"b": "1"}}),
        (["$.a[0][1]", "$.a[0].b"], {"a": [["0", "1"]]}),
        (["$.a[0]", "$.a.b.c"], {"a": ["0", {"c": "1"}]}),
        (["$.a[0]", "$.a[0].b"], {"a": [{"b": "1"}]}),
        (["$", ""], {"$": "0", "": "1"}),
        (["$" + ".a" * 101], {"$" + ".a" * 101: "0"}),
    ],
)
def test_paths_of_partial_arguments(paths: list[str], expected: dict[str, Any]) -> None:
    """A path has names, quoted names and list indexes; an invalid path is harmless."""
    pieces = [{"jsonPath": path, "stringValue": str(number)} for number, path in enumerate(paths)]

    assert expected == parts(HEAD, piece(*pieces), END)[0]["functionCall"]["args"]


def test_a_call_that_breaks_off() -> None:
    """Incomplete arguments are a text that nobody takes for complete JSON."""
    begun = piece({"jsonPath": "$.city", "stringValue": "Os", "willContinue": True})

    assert ['{"city":"Os"', "{"] == [parts(*chunks)[0]["functionCall"]["args"] for chunks in ([HEAD, begun], [HEAD])]


def test_the_signature_of_a_call_in_pieces() -> None:
    """A signature stays with its part, whichever piece contains it."""
    first = candidate({"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": "s"})

    assert [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "s"}] == parts(first, END)
