"""Which models share their signatures."""

import pytest

from reeld.formats.naming import family, same_family, why_not_transferable
from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import IMAGE, SOUND, model, opaque, thinking
from tests.reeld.formats.sending import sent


@pytest.mark.parametrize(
    ("model", "expected"),
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
    ],
)
def test_family(model: str, expected: str) -> None:
    """Routes, dates, revisions and channels do not make another family."""
    assert expected == family(model)


def test_what_is_unknown_stands_in_nobodys_way() -> None:
    """A signature of an unknown model goes to every model."""
    assert same_family(None, "gpt-5")
    assert same_family("gpt-5", None)
    assert not same_family("gpt-5", "gpt-4.1")


@pytest.mark.parametrize("name", FORMATS)
def test_whose_a_block_is(name: str) -> None:
    """In every format's report the same thing has the same words."""
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
