"""Conversations as Markdown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reel.exporting.markdown import markdown
from reel.exporting.open_blocks import closed
from reel.exporting.story import Heading
from reel.said.messages import Message
from tests.reel.exporting.conversation import message, said

HEADING = Heading("demo", None, {}, None, 9)
CALL = {"type": "tool_call", "id": "c1", "name": "look", "arguments": '{"a":1}'}
RESULT = {"type": "tool_result", "tool_call_id": "c1", "content": "found", "is_error": False}


def written(*messages: Message, heading: Heading = HEADING) -> str:
    """Return the Markdown of some messages."""
    return "".join(markdown(heading, messages))


def test_a_conversation() -> None:
    """Who said what is a heading; what a tool got and returned is folded below the answer that asked for it."""
    answer = said(2, "assistant", {"type": "text", "text": "I look.\n"}, CALL)
    text = written(message(1, "Hi"), answer, said(3, "tool", RESULT), message(4, "Found.", "assistant"))

    assert (
        "# demo\n\n### User\n\nHi\n\n### Assistant\n\nI look.\n\n"
        "<details>\n<summary>Call of <code>look</code></summary>\n\n"
        '```json\n{\n  "a": 1\n}\n```\n\n</details>\n\n'
        "<details>\n<summary>Result of <code>look</code></summary>\n\n```\nfound\n```\n\n</details>\n\n"
        "Found.\n"
    ) == text


def test_title_and_prompt() -> None:
    """The title is the heading, and the system prompt is folded; nothing of either is markup."""
    text = written(heading=Heading("demo", "a <b>*c*", {}, "Be `brief`.", 9))

    assert text.startswith("# a \\<b\\>\\*c\\*\n\n`demo`\n\n<details>\n<summary>System prompt</summary>")


@given(st.text(alphabet="`a\n~ ", max_size=30))
def test_fences(output: str) -> None:
    """Whatever a tool returned, it ends with its own fence."""
    result = {**RESULT, "content": output}

    tokens = MarkdownIt().parse(written(said(1, "tool", result), message(2, "after")))

    assert [token.content.strip("\n") for token in tokens if token.type == "fence"] == [output.strip("\n")]
    assert "after" == [token.content for token in tokens if token.type == "inline"][-1]


@given(st.text(alphabet="`a\n~ ", max_size=30))
def test_an_open_fence_is_closed(text: str) -> None:
    """A code block that an interrupted answer left open does not swallow the next message."""
    tokens = MarkdownIt().parse(written(message(1, text, "assistant"), message(2, "after")))

    assert "after" == [token.content for token in tokens if token.type == "inline"][-1]


@pytest.mark.parametrize(
    "text",
    [
        "Here:\n\n```python\nprint('broken off here",
        "~~~~\n~~~",
        "<?php\necho 'hi';\n\nx",
        "<!-- to be done\n\nmore",
        "<script>\nlet a;\n\nlet b;",
        "<PRE\nclass=x>\n\ny",
        "<style>\n\nb {}",
        "<textarea>\n\nx",
        "<![CDATA[ x\n\ny",
        "<!DOCTYPE html\n\nx",
        "<!-- ```\n\n```\n",
        "<!-- a --> <!-- b",
        "```\n<!--",
        "1. a list\n\n   ```py\n   x",
        "> ```\n> quoted",
        "- <!-- x\n\n  y",
        "<details>\n<summary>x</summary>\n\n<details>\n\n```\n</details>",
    ],
)
def test_an_open_block_is_closed(text: str) -> None:
    """Whatever a message leaves open in Markdown, the next one has its heading; closing it twice changes nothing."""
    tokens = MarkdownIt().parse(written(message(1, text), message(2, "An answer.", "assistant")))

    headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert ["demo", "User", "Assistant"] == headings
    html = "".join(token.content for token in tokens if token.type == "html_block")
    assert html.count("<details>") == html.count("</details>")
    assert closed(text) == closed(closed(text).rstrip("\n"))


@given(st.text(alphabet="<!->?[] \n`~prea/1.", max_size=40))
def test_any_open_block_is_closed(text: str) -> None:
    """A message that begins anything, in any place, does not swallow the next one."""
    tokens = MarkdownIt().parse(written(message(1, text, "assistant"), message(2, "after")))

    assert "after" == [token.content for token in tokens if token.type == "inline"][-1]


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (
            {"type": "media", "mime_type": "image/png", "data_base64": "AAAA", "name": "a*"},
            r"*a\*, image/png, 3 bytes*",
        ),
        ({"type": "media", "mime_type": "image/png", "url": "https://x.example"}, "image/png: <https://x.example>"),
        ({"type": "thinking", "text": "hm"}, "<summary>Thinking</summary>"),
        ({"type": "thinking", "text": ""}, ""),
        ({"type": "opaque", "provider": "p", "data_json": "{}"}, ""),
        ({**RESULT, "is_error": True}, "<summary>Error of <code>c1</code></summary>"),
        ({**RESULT, "content": [{"type": "text", "text": "inner"}]}, "\n\n```\ninner\n```\n"),
    ],
)
def test_blocks(block: object, words: str) -> None:
    """Each block is shown, named, or left out if only its provider can read it."""
    text = written(said(1, "tool" if "content" in dict(block) else "assistant", block))  # type: ignore[call-overload]

    assert words in text
    assert words or re.fullmatch(r"# demo\n(\n### \w+\n)?", text)


def test_a_later_result_says_that_it_counts() -> None:
    """The one before it is there too, as it was said."""
    text = written(said(1, "assistant", CALL), said(2, "tool", RESULT), said(3, "tool", RESULT))

    assert 1 == text.count("<summary>Result of <code>look</code></summary>")
    assert 1 == text.count("<summary>Later result of <code>look</code>, which counts</summary>")
