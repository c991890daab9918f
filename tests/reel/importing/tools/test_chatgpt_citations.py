"""What the marks of citations in ChatGPT's exports become."""

from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import Said
from reel.importing.tools.chatgpt.citations import with_links
from reel.importing.tools.chatgpt.tool import TOOL
from tests.reel.importing.exported import Tree, read

MARK, FILE = "\ue200cite\ue202turn0search1\ue202turn2view0\ue201", "\ue200filecite\ue202turn0file0\ue201"
PAGE, OTHER = {"title": "A [page]", "url": "https://a.example/x"}, {"attribution": "b", "url": "https://b.example/"}


@pytest.mark.parametrize(
    ("reference", "link"),
    [
        ({"alt": "([a](https://a.example/x))", "items": [OTHER]}, "([a](https://a.example/x))"),
        ({"items": [PAGE, OTHER]}, "([A (page)](https://a.example/x), [b](https://b.example/))"),
        (
            {"alt": "", "items": [{**PAGE, "supporting_websites": [OTHER, PAGE]}]},
            "([A (page)](https://a.example/x), [b](https://b.example/))",
        ),
        ({"type": "link_title", **OTHER}, "([b](https://b.example/))"),
        ({"safe_urls": ["https://a.example/x"], "items": []}, "(<https://a.example/x>)"),
        ({"items": [{"title": "t", "url": "https://a.example/(x)"}]}, "([t](<https://a.example/(x)>))"),
        ({"type": "file", "name": "deck.pdf"}, "(deck.pdf)"),
        ({"type": "hidden", "refs": ["hidden"]}, MARK),
        ({"items": [{"title": "t", "url": "javascript:alert(1)"}, 5], "safe_urls": [7]}, MARK),
    ],
)
def test_references(reference: Any, link: str) -> None:
    """A mark becomes the links of its reference; without any, it stays."""
    metadata = {"content_references": [5, {"matched_text": MARK, **reference}]}

    assert f"So {link}." == with_links(f"So {MARK}.", metadata)


def test_older_citations() -> None:
    """A mark in brackets is found by its place; a place that has no mark changes nothing."""
    text = "One\u301013\u2020source\u3011 two."
    about = {"metadata": {"title": "A", "url": "https://a.example/x"}}

    assert "One[A](https://a.example/x) two." == with_links(
        text, {"citations": [{"start_ix": 3, "end_ix": 14, **about}, {"start_ix": 0, "end_ix": 2, **about}, {}, 5]}
    )


def test_a_reference_to_no_place() -> None:
    """The space that stands for the footnotes marks nothing: all spaces would become links."""
    footnote = {"matched_text": " ", "type": "sources_footnote", "alt": "[x](https://x.example)"}

    assert f"a b {MARK}" == with_links(f"a b {MARK}", {"content_references": [footnote, {"matched_text": ""}]})


def test_citations_and_thoughts_in_an_export(tmp_path: Path) -> None:
    """An answer has links in its text, and thoughts may be in parts as any other text."""
    metadata = {"content_references": [{"matched_text": MARK, "items": [OTHER]}], "model_slug": "m"}
    made = Tree().said("u", "user", "Hi")
    made.said("t", "assistant", {"content_type": "thoughts", "parts": ["Hm", {"summary": "So", "content": "I see"}]})
    made.said("a", "assistant", f"Yes {MARK} {FILE}", metadata=metadata)

    said = [step for step in read(TOOL, tmp_path, made.exported()) if isinstance(step, Said)]

    thought, answer = (part.blocks[0] for part in said[1].parts)
    assert ("thinking", "Hm\n\nSo\nI see") == (thought["type"], thought["text"])
    assert f"Yes ([b](https://b.example/)) {FILE}" == answer["text"]
