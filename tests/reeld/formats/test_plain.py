"""Plain exchanges take a short way through rendering, which makes the same of them as the long one."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.core.events import Entry
from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.model import AssistantTurn, RenderContext, Turn
from reeld.formats.plain import find_templates, plain_runs
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import MESSAGES, Json, call, entries_of, model, result, thinking, tool, user

LOOP = [model(thinking(), call()), tool(result())]
OPEN_CALL = model(call("c9"))
TEXTS = st.text(min_size=1, max_size=3) | st.sampled_from(["\n", '"', "\\", "\x1f", "é", "x" * 300])
CHATS = st.lists(TEXTS, max_size=8).map(
    lambda texts: [
        text if index % 2 == 0 else {"role": "assistant", "content": text} for index, text in enumerate(texts)
    ]
)
HISTORIES = st.lists(CHATS | st.sampled_from([LOOP, [OPEN_CALL]]) | MESSAGES.map(lambda one: [one]), max_size=5)


def chat(exchanges: int) -> list[Any]:
    return [said for number in range(exchanges) for said in (f"{number}", model(f"said {number}"))]


def the_long_way(entries: Sequence[Entry]) -> list[Entry]:
    """Return entries of the same messages that do not look like plain texts."""
    return [entry._replace(kept=entry.content, data_json=entry.data_json or "{}") for entry in entries]


def numbered(turn: Turn, _context: RenderContext) -> list[Json]:
    """Write a turn with the number of its message."""
    return [{"seq": piece.seq, "content": piece.block["text"]} for piece in turn.pieces]


def doubled(turn: Turn, _context: RenderContext) -> list[Json]:
    """Write the assistant's turns as two items."""
    return [{"content": piece.block["text"]} for piece in turn.pieces] * (1 + isinstance(turn, AssistantTurn))


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@given(parts=HISTORIES, cut=st.integers(0, 40))
def test_both_ways_render_the_same(name: str, parts: list[list[Any]], cut: int) -> None:
    """Body, report and prefix are the same, at once and in two steps, whatever is between the plain exchanges."""
    entries = entries_of([message for part in parts for message in part])
    short: tuple[Rendered, RenderState | None] | None = None
    for end in (min(cut, len(entries)), len(entries)):
        short = render(RenderRequest(name), entries[:end], None, short[1] if short else None)

        assert render(RenderRequest(name), the_long_way(entries[:end]))[0] == short[0]


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai-chat", "openai-responses"])
def test_a_long_chat_is_rendered_the_same_in_both_ways(name: str) -> None:
    """It is longer than what is looked at together."""
    entries = entries_of([*chat(1100), *LOOP, *chat(3), "Bye"])

    assert None not in find_templates(FORMATS[name], RenderContext(None))
    assert render(RenderRequest(name), the_long_way(entries))[0] == render(RenderRequest(name), entries)[0]


def test_exchanges_that_follow_a_plain_one_and_are_settled() -> None:
    """The first exchange may have to do with what was before, and the last one is open."""
    runs = list(plain_runs(entries_of([*chat(4), OPEN_CALL, *chat(3), "Bye", " ", *chat(9)]), 0))

    assert [(2, [b"1", b"said 1", b"2", b"said 2"]), (11, [b"1", b"said 1", b"2", b"said 2"])] == runs[:2]
    assert [15] == [len(run.texts) + 1 for run in runs[2:]]


def reported(turn: Turn, context: RenderContext) -> list[Json]:
    """Report every text."""
    for piece in turn.pieces:
        context.note(piece, "downgraded", "it is in capital letters")
    return [{"content": piece.block["text"]} for piece in turn.pieces]


@pytest.mark.parametrize("write_turn", [numbered, doubled, reported])
def test_a_format_that_writes_texts_in_different_ways(write_turn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its turns go the long way."""
    monkeypatch.setitem(FORMATS, "other", FORMATS["gemini"]._replace(write_turn=write_turn))
    entries = entries_of([*chat(4), user("Bye")])

    assert None in find_templates(FORMATS["other"], RenderContext(None))
    assert render(RenderRequest("other"), the_long_way(entries))[0] == render(RenderRequest("other"), entries)[0]
