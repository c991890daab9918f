"""The HTML of the pages, from values: what is shown, and that no text in it does anything."""

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.exporting.story import Said
from reel.reading.branches import Node, Stretch
from reel.reading.difference import Compared, Hunk
from reel.reading.tokens import Tokens
from reel.reading.usage import Sum
from reel.replies import AgentInfo, AgentRow, Hit, HitsPage
from reel.viewing.conversation import Piece, body, draft, head
from reel.viewing.exchange import message_page
from reel.viewing.frame import closing, opening
from reel.viewing.live import event
from reel.viewing.sidebar import found, listed, search_form
from reel.viewing.views import branches, differences, form, usage
from reel.wire.pushes import DraftPush
from tests.reel.exporting.conversation import message, said

ID = "0a" * 16
HOSTILE = st.sampled_from(
    [
        "<script>",
        '"><img src=x onerror=x>',
        "' onfocus=x autofocus '",
        "</a></li></nav></main>",
        "\r\n\r\n",
        "javascript:x",
    ]
)
TEXTS = st.lists(HOSTILE | st.text(max_size=6), min_size=1, max_size=3).map("".join)
# What no page of ours has for a text.
FORBIDDEN = {"img", "svg", "iframe", "style", "base", "object", "embed"}


def row(text: str, **changes: object) -> AgentRow:
    """Return an agent whose texts are all this one."""
    agent = AgentRow(ID, text, text, {text: text}, True, 9, 0, 0, None, 3, text, "user", [text])
    return agent._replace(**changes)  # type: ignore[arg-type]


def info(text: str) -> AgentInfo:
    """Return the state of an agent whose texts are all this one."""
    return AgentInfo(ID, text, text, {text: text}, True, 9, 0, 0, text, 3, 3, [], [], True, 0)


def hits(*found: Hit, more: bool = False) -> HitsPage:
    """Return a page of hits in a complete index."""
    return HitsPage(list(found), more, 0)


def hit(text: str, **changes: object) -> Hit:
    """Return a hit whose texts are all this one."""
    found = Hit(ID, text, text, 4, None, text, 0, True, text, [[0, 1]], 1.0, 4)
    return found._replace(**changes)  # type: ignore[arg-type]


def whole_page(text: str) -> str:
    """Return everything that pages have, with one text wherever somebody else writes texts."""
    mark = Node((ID, 3), (ID, 2), "mark", text)
    stretch = Stretch([Node((ID, 2), None, "user", text), mark], live=False, now=False, clones=[(text, 3)])
    call = {"type": "tool_call", "id": text, "name": text, "arguments": text}
    piece = Piece(1, 4, [], [Said(message(2, text), is_live=True), Said(said(3, "assistant", call), is_live=False)])
    compared = Compared(4, "user", [{"type": "text", "text": text}])
    pieces = [
        opening(text, {"agent": text}),
        *head("/conversation", info(text), 3, text),
        *body(piece, 9),
        draft(DraftPush(ID, 1, text, text)),
        *branches(ID, [("├─ ", stretch)]),
        form(text, text, text),
        *differences([Hunk("-", [compared]), Hunk("=", [compared])]),
        *usage(ID, text, {text: Sum(1, Tokens(1)), "b": Sum()}),
        *closing([search_form(text), *listed([row(text)], ID, text), *found([row(text)], hits(hit(text), more=True))]),
        message_page(text, text),
    ]
    return "".join(pieces)


class Reader(HTMLParser):
    """Collects what could do something."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag, and its attributes."""
        self.scripts += tag == "script"
        self.bad += [tag] * (tag in FORBIDDEN)
        self.bad += [name for name, _ in attrs if name.startswith("on") or name in ("style", "srcdoc", "formaction")]
        self.bad += [value or "" for name, value in attrs if name in ("href", "action", "src") and not is_ours(value)]


def is_ours(address: str | None) -> bool:
    """Return whether an address is on this server, or that of the empty icon."""
    return address == "data:," or ((address or "").startswith(("/", "#")) and not (address or "").startswith("//"))


@pytest.mark.slow
@settings(max_examples=40)
@given(TEXTS)
def test_hostile_texts(text: str) -> None:
    """No text becomes an element, an attribute or an address, on any page."""
    reader = Reader()
    reader.feed(whole_page(text))

    assert (1, []) == (reader.scripts, reader.bad)


@given(TEXTS | st.just("\r\nevent: lost\n\n\u2028"))
def test_an_event_is_one_line_of_data(text: str) -> None:
    """A text cannot end its event, and begin another one."""
    lines = event("parts", 7, html=text).decode().splitlines()

    assert ["event: parts", "id: 7"] == lines[:2]
    assert lines[2].startswith("data: ")
    assert [""] == lines[3:]
    assert {"seq": 7, "html": text} == json.loads(lines[2][6:])


def test_a_row_of_the_list() -> None:
    """A row has the name, the title, who writes, and the tags that say something to a person."""
    shown = "".join(listed([row("demo", title="Tapes", tags={"a": "b", "import": "x"})], ID, None))

    assert 'aria-current="page"' in shown
    assert "<span>demo writes</span><span>a=b</span>" in shown
    assert "import=x" not in shown
    assert '<span class="about">Tapes</span>' in shown


def test_a_hit_leads_to_its_message() -> None:
    """What is in the conversation is shown there; what is not, as the conversation was at that point."""
    here = "".join(found([], hits(hit("tape deck", matches=[[5, 9]]))))
    gone = "".join(found([], hits(hit("tape", live=False))))

    assert f'href="/conversation?agent={ID}&amp;around=4#m4"' in here
    assert "tape <mark>deck</mark>" in here
    assert f'href="/conversation?agent={ID}&amp;at=4#m4"' in gone
    assert "not in the conversation" in gone


def test_a_very_long_text_is_cut() -> None:
    """Of what would hold up the browser, the beginning is shown, and how much more there is."""
    result = {"type": "tool_result", "tool_call_id": "c", "content": "x" * 100_007, "is_error": False}
    inner = {**result, "content": [{"type": "text", "text": "y" * 100_001}]}
    shown = "".join(Piece(1, 4, [], [Said(said(3, "tool", result, inner), is_live=True)]).html(4))

    assert f"{'x' * 100_000}\n… 7 more characters: reel show prints #3 whole</pre>" in shown
    assert f"{'y' * 100_000}\n… 1 more characters" in shown


def test_how_hits_differ_from_the_query() -> None:
    """The page says what else was searched for, what a hit lacks, and that not all messages were ranked or indexed."""
    page = HitsPage([hit("tape")._replace(without=["<deck>"])], False, 7, None, {"<tpae>": ["tape", "taps"]}, True)
    shown = "".join(found([], page, "the search index is late"))

    assert "Nothing has &lt;tpae&gt;: results for tape and taps." in shown
    assert "<span>without: &lt;deck&gt;</span>" in shown
    assert "Very many messages have these words, and only the newest were ranked; a rarer word" in shown
    assert ">The search index is late.<" in shown
    assert "Very many" not in "".join(found([], hits(hit("tape"))))


def test_nothing_to_show() -> None:
    """An empty list, an empty search and equal conversations say so."""
    assert "No conversations." in "".join(listed([], None, None))
    assert "Nothing was found." in "".join(found([], hits()))
    assert "Nothing differs." in "".join(differences([]))
    assert "No token counts." in "".join(usage(None, "model", {}))
    assert "" == draft(DraftPush(ID, 1, ""))


def test_branches() -> None:
    """Each stretch leads to the conversation as it was at its end; the one that is current leads to now."""
    nodes = [Node((ID, 2), None, "user", "one"), Node((ID, 3), (ID, 2), "user", "two")]
    stretches = [
        ("", Stretch(nodes, live=True, now=True, clones=[])),
        ("└─ ", Stretch(nodes, live=False, now=False, clones=[])),
    ]
    now, left = "".join(branches(ID, stretches)).split("<li")[1:]

    assert f'href="/conversation?agent={ID}">#2-#3, 2 messages</a>' in now
    assert f'href="/conversation?agent={ID}&amp;at=3">' in left
    assert "(left behind)" in left


def test_differences() -> None:
    """A short stretch that both have is folded, a long one is counted, and the others are shown."""
    one = Compared(4, "user", [{"type": "text", "text": "hello"}])
    shown = "".join(differences([Hunk("=", [one]), Hunk("+", [one]), Hunk("=", [one] * 21)]))

    assert "<summary>1 message in common</summary>" in shown
    assert '<section class="plus"' in shown
    assert '<p class="event">21 messages in common</p>' in shown


def test_usage() -> None:
    """Each group has a row, and several have a total."""
    shown = "".join(usage(None, "day", {"a": Sum(1, Tokens(1000, 2)), "b": Sum(1, Tokens(1, 1))}))

    assert '<th scope="row">a</th><td>1</td><td>1,000</td>' in shown
    assert '<th scope="row">total</th><td>2</td><td>1,001</td>' in shown
