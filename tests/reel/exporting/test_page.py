"""Pages can do nothing for whoever wrote the texts in them."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from reel.exporting.page import page, policy, style
from reel.exporting.story import Happened, Heading, Part, Said
from reel.said.messages import Message
from tests.reel.exporting.conversation import event, message, said

HEADING = Heading("demo", "Tapes", {"topic": "tapes"}, "Be brief.", 9)
# What a page may consist of. `a` has an `href` that is checked, `img` only pictures that are in the page.
TAGS = set(
    "html head meta title style body div header h1 p span a details summary b pre main article time nav h2 ol li "  # noqa: SIM905 - one word each
    "code em strong s ul blockquote hr br table thead tbody tr th td h3 h4 h5 h6 img".split()
)
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "aria-label", "start", "rel"}
HARMLESS = ("https://", "http://", "mailto:", "#")
# Pieces of what attackers write.
HOSTILE = st.sampled_from(
    [
        "<script>alert(1)</script>",
        "</pre></details></main></style><script src=//x>",
        "<img src=x onerror=alert(1)>",
        '"><svg onload=alert(1)>',
        "' onclick='alert(1)",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>)",
        "![x](https://tracker.example/x.png)",
        '<https://x.example/"onmouseover=alert(1)>',
        "[x]: vbscript:x\n\n[x]",
        "```<!--\n",
        "<!--",
        "<?x ?>",
        "&lt;script&gt;",
        "\x00\u2028\u202e",
        "| a |\n|---|\n| <b> |\n",
        "> 1. - # x\n",
        "<style>*{}</style>",
        "<base href=//x>",
        "]]>",
    ]
)
TEXTS = st.lists(HOSTILE | st.text(max_size=8), max_size=5).map("".join)


def written(*messages: Message, heading: Heading = HEADING, is_live: bool = True) -> str:
    """Return the page of some messages."""
    return "".join(page(heading, [Said(each, is_live) for each in messages]))


class Reader(HTMLParser):
    """Fails if a page has anything in it that could do something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Check a tag and its attributes."""
        self.tags.append(tag)
        assert tag in TAGS, tag
        for name, value in attrs:
            if tag == "img":
                assert "alt" == name or (value or "").startswith("data:image/"), value
            elif name == "href":
                assert (value or "").lower().startswith(HARMLESS), value
            else:
                assert name in ATTRIBUTES, name


@given(TEXTS, TEXTS, st.booleans())
def test_hostile_texts(one: str, other: str, is_live: bool) -> None:
    """Whatever is in a text, the page has the elements of our own, and no address that runs something."""
    calls = {"type": "tool_call", "id": one, "name": other, "arguments": one}
    results = {"type": "tool_result", "tool_call_id": one, "content": other, "is_error": is_live}
    pictures = {"type": "media", "mime_type": "image/png", "data_base64": one, "name": other}
    found = Reader()
    found.feed(
        written(
            message(1, one),
            said(2, "assistant", {"type": "text", "text": other}, {"type": "thinking", "text": one}, calls),
            said(3, "tool", {**results, "content": [pictures, {"type": "text", "text": one}]}, results),
            said(4, "user", pictures, {"type": "media", "mime_type": one, "url": other}),
            said(5, "assistant", {"type": "opaque", "provider": one, "data_json": other}),
            heading=Heading(one, other, {one: other}, one, 1),
            is_live=is_live,
        )
    )
    found.close()

    assert 1 == found.tags.count("main")


def test_the_policy_has_the_style_sheet_and_nothing_else() -> None:
    """Only this style sheet applies, and nothing is run or fetched."""
    text = written()
    sheet = text.split("<style>")[1].split("</style>")[0]

    assert sheet == style()
    assert b64encode(sha256(sheet.encode()).digest()).decode() in policy()
    assert policy().startswith("default-src 'none'")
    assert "script-src" not in policy()


def test_contents_are_the_prompts() -> None:
    """What users said is in the contents, as long as it is in the conversation."""
    text = "".join(page(HEADING, [Said(message(1, "one"), is_live=True), Said(message(2, "two"), is_live=False)]))

    contents = text.split("<nav")[1]
    assert '<a href="#m1">one</a>' in contents
    assert "two" not in contents


def test_what_is_gone_is_folded() -> None:
    """Each stretch of messages that are gone is one fold, which says how many there are."""
    parts: list[Part] = [
        Said(message(1), is_live=True),
        Said(message(2), is_live=False),
        Said(message(3, role="assistant"), is_live=False),
        Happened(event(4, "rewind", {"target": 1})),
        Said(message(5), is_live=False),
    ]
    text = "".join(page(HEADING, parts))

    assert "2 messages, #2 to #3, are no longer in the conversation" in text
    assert "back to #1 <span>(#4)</span>" in text
    assert "One message, #5, is no longer in the conversation" in text


def test_an_answer_is_markdown_and_a_prompt_is_not() -> None:
    """What the assistant says has its form; what a user typed stays as it is."""
    text = written(message(1, "**a**\n  b"), message(2, "**c**\n\n|d|\n|-:|\n", "assistant"))

    assert '<div class="plain">**a**\n  b</div>' in text
    assert "<strong>c</strong>" in text
    assert '<th class="right">d</th>' in text


def test_a_result_has_the_name_of_its_tool() -> None:
    """Calls and results are folded below a line that says what they are."""
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"a":1}'}
    result = {"type": "tool_result", "tool_call_id": "c1", "content": "x" * 200, "is_error": False}
    text = written(said(1, "assistant", call), said(2, "tool", result))

    assert "Call of <b>look</b> {&quot;a&quot;:1}</summary>\n<pre>\n{\n  &quot;a&quot;: 1\n}</pre>" in text
    assert f"Result of <b>look</b> {'x' * 89}…</summary>" in text


def test_what_no_browser_shows() -> None:
    """Media that are no pictures, opaque blocks and encrypted thinking are named with their size."""
    drawing = {"type": "media", "mime_type": "image/svg+xml", "data_base64": "AAAA"}
    text = written(said(1, "user", drawing), said(2, "assistant", {"type": "redacted_thinking", "data": "x"}))

    assert "image/svg+xml, 3 bytes" in text
    assert "thinking, encrypted by the provider" in text


def test_a_very_long_answer_is_plain() -> None:
    """What would take seconds as Markdown is shown as it is."""
    assert f'<div class="plain">{"*a* " * 50_001}</div>' in written(message(1, "*a* " * 50_001, "assistant"))


def test_remarks_on_an_answer() -> None:
    """An answer that came behind what it does not answer, or is not whole, says so beside its time; others do not."""
    late, cut, plain = (message(seq, "So.", "assistant") for seq in (1, 2, 3))
    late["provider_metadata"] = {"late": 2}
    cut["provider_metadata"] = {"late": 1, "finish_reason": "max_tokens"}
    plain["provider_metadata"] = {"late": 0}
    broken = message(4, "So", "assistant")
    broken["provider_metadata"] = {"broke_off": "Overloaded\n<b>", "finish_reason": "max_tokens"}
    texts = re.findall(r'<span class="remark">(.*?)</span>', written(late, cut, plain, broken))

    assert "does not answer the 2 messages above it" == texts[0]
    assert ["not whole: it reached the limit of tokens", "does not answer the message above it"] == texts[1:3]
    assert ["not whole: it broke off: Overloaded &lt;b&gt;"] == texts[3:]
