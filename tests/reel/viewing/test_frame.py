"""The frame of every page: addresses, tabs, and the keys that the script knows."""

import re
from importlib.resources import files

import pytest

from reel.viewing.frame import KEYS, TABS, address, closing, link, opening, tabs
from tests.reel.viewing.test_html import ID, info

_SCRIPT = files("reel.viewing").joinpath("static", "view.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("expected", "made"),
    [
        ("/", address("/")),
        ("/", address("/", agent=None)),
        ("/usage?by=tag%3Aa%26b", address("/usage", by="tag:a&b")),
        ("/conversation?agent=x&at=3#m3", address("/conversation", "#m3", agent="x", at=3, around=None)),
        ("/list?after=%C3%A9+%2F", address("/list", after="é /")),
        ("/parts?at=0", address("/parts", at=0)),
    ],
)
def test_addresses(expected: str, made: str) -> None:
    """Values are quoted, and what is not given is left out; 0 is given."""
    assert expected == made


def test_a_link() -> None:
    """Its words and its address are safe in HTML."""
    assert '<a href="/usage?a=1&amp;by=%22">a &lt; b</a>' == link("a < b", "/usage", a=1, by='"')


def test_the_beginning_of_a_page() -> None:
    """It has the data for the script, without what is unknown, and the title of the window."""
    page = opening("A & B", {"agent": ID, "at": None, "since": 0, "kind": '"'})

    assert "<title>A &amp; B · reel</title>" in page
    assert f'<body data-agent="{ID}" data-since="0" data-kind="&quot;">' in page


def test_tabs() -> None:
    """Each view of a conversation is one key away, at the same position, and the one that is shown is marked."""
    shown = tabs("/branches", info("Tapes"), 3)

    assert [f"{tab.path}?agent={ID}&amp;at=3" for tab in TABS] == re.findall(r'<a href="([^"]+)"', shown)
    assert ["Branches"] == re.findall(r'aria-current="page">(\w+)<', shown)
    assert "Tapes, as it was at #3</span>" in shown


def test_the_keys_that_are_listed_are_those_of_the_script() -> None:
    """Every key that the page lists does something, and every key that does something is listed."""
    listed = {"Escape" if key == "Esc" else key for keys, _ in KEYS for key in keys.split(", ")}
    (actions,) = re.findall(r"^const actions = \{\n(.*?)^\};", _SCRIPT, re.DOTALL | re.MULTILINE)
    known = {name.strip('"') for name in re.findall(r'^  ("?\S+?"?):', actions, re.MULTILINE)}

    assert listed == known | {"Enter"} | {tab.key for tab in TABS}


def test_the_end_of_a_page() -> None:
    """The list stands beside the page, and the keys in a dialog that opens only when it is asked for."""
    end = "".join(closing(["<ul>", "</ul>"]))

    assert '<nav id="sidebar" aria-label="Conversations" tabindex="-1">\n<ul></ul></nav>' in end
    assert len(KEYS) == end.count("<dt>")
    assert "<dt><kbd>g</kbd> <kbd>G</kbd></dt>" in end
    assert end.endswith("</body>\n</html>\n")
