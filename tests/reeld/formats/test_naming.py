"""Ids of calls, names of tools, and families of models."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.formats.naming import family, same_family, sent_id, sent_name, why_not_transferable
from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import IMAGE, SOUND, model, opaque, thinking
from tests.reeld.formats.sending import sent


@pytest.mark.parametrize("given_id", ["c1", "toolu_01A-b", "x" * 40])
def test_an_id_that_every_provider_accepts_is_kept(given_id: str) -> None:
    """It has at most forty letters, digits, underscores and hyphens."""
    assert given_id == sent_id(given_id, {}, 1, 0)


@pytest.mark.parametrize("given_id", ["functions.look:0", "a|b", "x" * 41, "ü", ""])
def test_an_id_that_some_provider_refuses_is_hashed(given_id: str) -> None:
    """The hash is of the id alone, so a clone sends the same."""
    assert sent_id(given_id, {}, 1, 0) == sent_id(given_id, {}, 7, 3)
    assert sent_id(given_id, {}, 1, 0).startswith("call_")


@given(st.lists(st.sampled_from(["c1", "c2", "a|b", "ü"]), max_size=12))
def test_no_id_is_sent_twice(ids: list[str]) -> None:
    """Calls have different ids over the whole history, and every provider accepts all of them."""
    used: dict[str, None] = {}
    for seq, given_id in enumerate(ids):
        sent = sent_id(given_id, used, seq, 0)

        assert sent not in used
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", sent)
        used[sent] = None


@pytest.mark.parametrize(
    ("given_name", "begins"), [("look", "look"), ("a.b", "a_b_"), ("1st", "_1st_"), ("ü", "__"), ("-x", "_-x_")]
)
def test_a_tool_name_that_some_provider_refuses_stays_readable(given_name: str, begins: str) -> None:
    """Its readable characters stay, and a hash follows."""
    assert sent_name(given_name).startswith(begins)


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
def test_any_tool_name_becomes_one_that_every_provider_accepts(one: str, other: str) -> None:
    """Different names stay different."""
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", sent_name(one))
    assert (one == other) == (sent_name(one) == sent_name(other))
    assert sent_name(sent_name(one)) == sent_name(one)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", "claude-3-7-sonnet"),
        ("anthropic/claude-opus-4.8", "claude-opus-4-8"),
        ("claude-3-5-sonnet@20240620", "claude-3-5-sonnet"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("models/gemini-2.5-pro-preview-05-06", "gemini-2-5-pro"),
        ("gemini-2.0-flash-001", "gemini-2-0-flash"),
        ("gemini-3-pro-preview", "gemini-3-pro"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("o3-mini", "o3-mini"),
        ("claude-opus-4-6@default", "claude-opus-4-6"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("claude-opus-4-6-20260205[1m]", "claude-opus-4-6"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6"),
    ],
)
def test_releases_of_one_model_are_one_family(name: str, expected: str) -> None:
    """Routes, dates, revisions and channels do not make another family."""
    assert expected == family(name)


def test_an_unknown_model_is_of_every_family() -> None:
    """A signature of an unknown model goes to every model."""
    assert same_family(None, "gpt-5")
    assert same_family("gpt-5", None)
    assert not same_family("gpt-5", "gpt-4.1")


@pytest.mark.parametrize("name", [name for name, found in FORMATS.items() if not found.any_signature])
def test_every_format_reports_foreign_blocks_in_the_same_words(name: str) -> None:
    """The report says whose a block is."""
    blocks = [thinking(provider="elsewhere"), thinking(provider=None), opaque("{}", "elsewhere"), SOUND, IMAGE]
    _, report = sent(name, ["Hi", model(*blocks, "Hi")], "m-2")
    other = opaque("{}", "p", model="m-1")

    assert ["thinking of elsewhere", "thinking of an unknown provider", "an opaque block of elsewhere"] == [
        change.why for change in report[:3]
    ]
    assert {"media from the assistant"} >= {change.why for change in report[3:]}
    assert ("an opaque block of another model, m-1", None) == (
        why_not_transferable(other, "p", "m-2"),
        why_not_transferable(other, "p", "m-1"),
    )
