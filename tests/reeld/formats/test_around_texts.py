"""What a format writes around a text that is all there is of a turn."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.strict_json import encode
from reeld.formats.around_texts import Around, around_text, around_turns
from reeld.formats.model import RenderContext, Turn
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import Json, call, entries_of, model, prompt_in, result, tool
from tests.reeld.formats.test_always_sendable import CASES, request


def test_what_is_around_a_text_is_learned_from_two() -> None:
    """Any other text is written in the same way, escaped as JSON has it."""
    around = around_text(lambda text: encode({"role": "user", "content": [{"text": text}]}))

    assert Around('{"role":"user","content":[{"text":', "}]}") == around
    assert '{"role":"user","content":[{"text":"\\"\\n\\u0001ü"}]}' == around.fill('"\n\x01ü')


@pytest.mark.parametrize(
    "write",
    [
        lambda _text: None,
        lambda text: encode([text, text]),
        lambda text: encode([text.upper()]),
        lambda text: encode([text, len(text)]),
        lambda text: encode([text]) if '"' not in text else None,
    ],
)
def test_a_writer_that_looks_at_texts_has_no_around(write: Any) -> None:
    """Its turns are written one by one."""
    assert around_text(write) is None


def test_a_format_that_looks_at_what_is_before_a_text_has_no_around() -> None:
    """What is around the user's texts is found nevertheless; for a few turns, nothing is looked for."""

    def write(turn: Turn, context: RenderContext) -> list[Json]:
        return [{"text": turn.text, "after": context.follows_results}]

    target = FORMATS["ollama"]._replace(write_turn=write)

    assert (Around('{"text":', ',"after":false}'), None) == around_turns(target, RenderContext(None), 100)
    assert (None, None) == around_turns(target, RenderContext(None), 3)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1) | st.just("Hi")
EXCHANGES = st.lists(
    st.tuples(st.sampled_from(["text", "text", "loop", "late"]), TEXTS, TEXTS), min_size=25, max_size=30
)


@given(case=st.sampled_from(CASES), exchanges=EXCHANGES)
def test_many_turns_of_texts_are_written_like_a_few(
    case: tuple[str, str | None], exchanges: list[tuple[str, str, str]]
) -> None:
    """What is around a text is only looked for where there are many; in small steps each is written by itself."""
    history: list[Any] = []
    for number, (kind, asked, answer) in enumerate(exchanges):
        history.append(asked)
        if kind != "text":
            history += [model(call(f"c{number}")), *([tool(result(f"c{number}"))] if kind == "loop" else [asked])]
        history.append(model(answer))
    entries = entries_of([*history, "Bye"])
    kept: RenderState | None = None
    for end in (*range(10, len(entries), 10), len(entries)):
        found, kept = render(request(*case), entries[:end], prompt_in(entries), kept)

    assert render(request(*case), entries, prompt_in(entries))[0] == found
