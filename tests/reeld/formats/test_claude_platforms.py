"""What Claude signed on one platform goes back to it on another (rule A20)."""

import json

import pytest

from reeld.formats.body import RenderRequest
from reeld.formats.ingest import read_response
from reeld.formats.render import render
from tests.reeld.formats.histories import entries_of, model, thinking, user
from tests.reeld.formats.sending import sent

HERE, BEDROCK = "claude-opus-4-6", "us.anthropic.claude-opus-4-6-v1:0"
BOUND = "claude-opus-5-5"


def sent_thinking(target: str, answers: str | None, provider: str, made_by: str | None) -> tuple[bool, list[str]]:
    """Return whether thinking is sent to a model, and why something is left out."""
    named = {} if made_by is None else {"model": made_by}
    history = [user("Hi"), model(thinking("hm", "U0lHTkVE", provider, **named), "Hi"), user("So?")]
    body, report = sent(target, history, answers)
    return "U0lHTkVE" in json.dumps(body), [change.why for change in report if change.action == "dropped"]


@pytest.mark.parametrize(
    ("target", "answers", "provider", "made_by"),
    [
        ("anthropic", HERE, "bedrock", BEDROCK),
        ("anthropic", None, "bedrock", BEDROCK),
        ("anthropic", "claude-opus-4-6@default", "bedrock", BEDROCK),
        ("bedrock-converse", BEDROCK, "anthropic", HERE),
        ("bedrock-converse", BEDROCK, "anthropic", "claude-opus-4-6@20260205"),
        ("bedrock-converse", BEDROCK, "anthropic", None),
    ],
)
def test_claudes_thinking_moves_between_its_platforms(
    target: str, answers: str | None, provider: str, made_by: str | None
) -> None:
    """The signature is valid on all of them."""
    assert (True, []) == sent_thinking(target, answers, provider, made_by)


@pytest.mark.parametrize(
    ("target", "answers", "provider", "made_by", "why"),
    [
        ("anthropic", HERE, "bedrock", "amazon.nova-pro-v1:0", "thinking of bedrock"),
        ("anthropic", HERE, "bedrock", None, "thinking of bedrock"),
        ("anthropic", HERE, "bedrock", "us.anthropic.claude-haiku-4-6", "thinking of another model, us.anthropic"),
        ("bedrock-converse", "amazon.nova-pro-v1:0", "anthropic", HERE, "thinking of anthropic"),
        ("bedrock-converse", None, "anthropic", HERE, "thinking of anthropic"),
        ("gemini", None, "bedrock", BEDROCK, "thinking of bedrock"),
    ],
)
def test_what_may_not_be_claudes_stays_where_it_was_made(
    target: str, answers: str | None, provider: str, made_by: str | None, why: str
) -> None:
    """Another model of Bedrock's does not read Claude's thinking, and Claude reads no other."""
    is_sent, report = sent_thinking(target, answers, provider, made_by)

    assert not is_sent
    assert [True] == [told.startswith(why) for told in report]


def test_redacted_thinking_does_not_move() -> None:
    """Bedrock has bytes where Anthropic has a text."""
    hidden = {"type": "redacted_thinking", "data": "dGFwZQ==", "provider": "anthropic", "model": HERE}
    body, _ = sent("bedrock-converse", [user("Hi"), model(hidden, "Hi"), user("So?")], BEDROCK)

    assert "dGFwZQ==" not in json.dumps(body)


def test_thinking_that_is_bound_does_not_move_between_the_apis() -> None:
    """They write what is before it differently (rule A8); back at the same API it is sent."""
    entries = entries_of([user("Hi")])
    prefix = render(RenderRequest("anthropic", BOUND), entries)[0].prefix.body
    said = {
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "U0lHTkVE"},
            {"type": "text", "text": "Hi"},
        ]
    }
    message = read_response("anthropic", json.dumps(said), BOUND, prefix=prefix)[0]
    entries = entries_of([user("Hi"), message, user("So?")])
    here, there = (
        render(RenderRequest(name, by), entries)[0]
        for name, by in (("anthropic", BOUND), ("bedrock-converse", f"us.anthropic.{BOUND}"))
    )

    assert "U0lHTkVE" in here.body
    assert "U0lHTkVE" not in there.body
    assert ["which has changed"] == [change.why[-17:] for change in there.report if change.action == "dropped"]
