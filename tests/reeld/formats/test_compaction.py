"""A summary stands for what was before it (rules R13 and A19)."""

import json
from typing import Any

import pytest

from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from tests.formats.checker import check
from tests.reeld.formats.histories import Json, call, entries_of, model, opaque, result, tool

ITEM = {"type": "compaction", "encrypted_content": "gAAAA"}
SUMMARY = {"type": "compaction", "content": "Summary", "signature": "c2ln"}
MODELS = {"openai-responses": "gpt-6-sol", "anthropic": "claude-opus-4-8"}
MADE = {
    "openai-responses": opaque(json.dumps(ITEM), "openai", model="gpt-6-sol"),
    "anthropic": opaque(json.dumps(SUMMARY), "anthropic", model="claude-opus-4-8"),
}
both = pytest.mark.parametrize("name", MODELS)


def rendered(
    name: str, history: list[Any], kept: RenderState | None = None, **how: Any
) -> tuple[Rendered, RenderState]:
    """Render a history, check the body, and return both."""
    request = RenderRequest(name, how.pop("model", MODELS[name]), **{"extra": EXTRA[name], **how})
    found, kept = render(request, entries_of(history), None, kept)
    assert not found.ready or [] == check(name.replace("-", "_"), json.loads(found.body), request.model)
    return found, kept


EXTRA: dict[str, Json] = {"openai-responses": {"store": False}, "anthropic": {"betas": ["compact-2026-09-04"]}}


def said(found: Rendered) -> str:
    """Return the history of a body as text."""
    body = json.loads(found.body)
    return json.dumps(body.get("input", body.get("messages")))


@both
def test_only_what_follows_the_newest_summary_goes_back(name: str) -> None:
    """The summary comes first; rendered again as at first."""
    talk: list[Any] = ["old", model("x"), "older", model(MADE[name], "A1"), "new", model(MADE[name], "A2"), "And?"]
    kept = None
    for end in range(1, len(talk) + 1):
        grown, kept = rendered(name, talk[:end], kept)
        assert said(grown) == said(rendered(name, talk[:end])[0])

    for lost in ("old", "older", "A1", "new"):
        assert f'"{lost}"' not in said(grown)
    assert 1 == said(grown).count("compaction")
    assert 0 < said(grown).index("compaction") < said(grown).index("A2") < said(grown).index("And?")
    assert "what was before a compaction, which stands for it" in [change.why for change in grown.report]


@both
def test_another_model_is_sent_everything(name: str) -> None:
    """It cannot read the summary."""
    other = {"openai-responses": "gpt-5.5", "anthropic": "claude-haiku-3-5"}[name]
    found, _ = rendered(name, ["old", model("x"), "Q", model(MADE[name], "A"), "And?"], model=other)

    assert "old" in said(found)
    assert "compaction" not in said(found)


@both
def test_a_call_of_the_turn_that_a_summary_ends_stays(name: str) -> None:
    """Its result follows, and would have no call."""
    found, _ = rendered(name, ["old", model("x", call(), MADE[name]), tool(result())])

    assert "old" not in said(found)
    assert 0 < said(found).index("compaction") < said(found).index("look") < said(found).index("done")


def test_a_summary_without_a_signature_stays_where_it_was() -> None:
    """The API itself leaves out what is before it; so it is with one that failed."""
    for block in ({"type": "compaction", "content": "S"}, {**SUMMARY, "content": None}):
        kept = opaque(json.dumps(block), "anthropic", model="claude-opus-4-8")
        found, _ = rendered("anthropic", ["old", model(kept, "A"), "And?"])

        assert "old" in said(found)
        assert "compaction" in said(found)


def test_breakpoints_before_a_summary_are_gone() -> None:
    """Those behind it stay."""
    marked = {"provider": "anthropic", "cache_control": {"type": "ephemeral"}}
    before, after = ({"type": "text", "text": words, "provider_metadata": marked} for words in ("before", "after"))
    found, _ = rendered("anthropic", ["old", model(before), model(MADE["anthropic"], after), "And?"])
    (first, _) = json.loads(found.body)["messages"]

    assert [SUMMARY["type"], "text"] == [block["type"] for block in first["content"]]
    assert "cache_control" in first["content"][1]
