"""How many tokens the contexts of models hold: a table with a date, and the sizes of a person's own."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.model_names import look_up

if TYPE_CHECKING:
    from collections.abc import Mapping

# The day of the table.
DATE = "2026-11-28"
_LARGE, _MILLION, _MEBI = 200_000, 1_000_000, 1 << 20
# What the makers' own APIs take without a beta or a setting. A model that is not here is one whose size is not known:
# a server of one's own decides by itself, and a guess would say that there is room where there is none.
CONTEXTS = {
    **dict.fromkeys(("claude-3-haiku", "claude-3-opus", "claude-3-5-haiku", "claude-3-5-sonnet"), _LARGE),
    **dict.fromkeys(("claude-3-7-sonnet", "claude-haiku-4-5", "claude-sonnet-4", "claude-sonnet-4-5"), _LARGE),
    **dict.fromkeys(("claude-opus-4", "claude-opus-4-1", "claude-opus-4-5"), _LARGE),
    **dict.fromkeys(("claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-4-6"), _MILLION),
    **dict.fromkeys(("claude-opus-5", "claude-opus-5-5", "claude-sonnet-5", "claude-sonnet-5-5"), _MILLION),
    **dict.fromkeys(("claude-haiku-5-5", "claude-fable-5-1", "claude-fable-5-2"), _MILLION),
    **dict.fromkeys(("gpt-4o", "gpt-4o-mini"), 128_000),
    **dict.fromkeys(("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"), 1_047_576),
    **dict.fromkeys(("gpt-5", "gpt-5-codex", "gpt-5-mini", "gpt-5-nano", "gpt-5.1", "gpt-5.1-codex"), 400_000),
    **dict.fromkeys(("gpt-5.2", "gpt-5.4-mini", "gpt-5.4-nano"), 400_000),
    **dict.fromkeys(("gpt-5.4", "gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna"), 1_050_000),
    "gpt-5.5": _MILLION,  # other pages say a little more
    **dict.fromkeys(("o1", "o3", "o3-mini", "o4-mini"), _LARGE),
    **dict.fromkeys(("gemini-2.0-flash", "gemini-2.0-flash-lite"), _MEBI),
    **dict.fromkeys(("gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-2.5-pro"), _MEBI),
    **dict.fromkeys(("gemini-3-flash-preview", "gemini-3-pro-preview"), _MEBI),
    **dict.fromkeys(("gemini-3.6-flash", "gemini-3.8-flash"), _MEBI),
}


def context_of(model: str, own: Mapping[str, int]) -> int | None:
    """Return how many tokens the context of a model holds; ``None`` if that is not known.

    Args:
        model: the name of the model, as its provider writes it.
        own: sizes that count before those of the table. A name without a version stands for all versions.
    """
    return look_up(model, own, CONTEXTS)
