"""Cache breakpoints: which are sent, and where one is placed."""

from typing import Any

import pytest

from reeld.formats.anthropic.caching import mark_end
from reeld.formats.breakpoints import mark_last
from reeld.formats.encoded_turns import Chunks, EncodedTurns, Marks
from reeld.formats.table import FORMATS

CACHING = FORMATS["anthropic"].caching
MARK = {"cache_control": {"type": "ephemeral"}}


def turn(*content: dict[str, Any]) -> dict[str, Any]:
    """Return a message."""
    return {"role": "user", "content": list(content)}


def test_blocks_without_a_breakpoint_stay() -> None:
    """Only breakpoints that are too many are taken away."""
    first, second, third = ({"type": "text", "text": text} for text in "abc")
    assert CACHING is not None
    kept = CACHING.keep_newest(turn({**first, **MARK}, second, {**third, **MARK}), 1)

    assert turn(first, second, {**third, **MARK}) == kept


def test_a_thought_has_no_breakpoint() -> None:
    """A message of thoughts alone can have none."""
    assert mark_end({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}, "5m", None) is None


@pytest.mark.parametrize("items", [[], [{"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}]])
def test_nothing_can_have_a_breakpoint(items: list[dict[str, Any]]) -> None:
    """If nothing of some turns can have a breakpoint, none is placed."""
    assert CACHING is not None
    turns = EncodedTurns()
    turns.add(items, 1, is_user=False, can_begin=False)
    turns.add([], 2, is_user=True, can_begin=True)

    assert [] == mark_last(turns, CACHING, "5m", None)


def test_an_item_whose_bytes_are_others() -> None:
    """A breakpoint is placed only if the bytes are those that it would replace."""
    assert CACHING is not None
    turns = EncodedTurns()
    data = b'{"role": "user", "content": [{"type": "text", "text": "a"}]},'
    turns.add([turn({"type": "text", "text": "a"})], 1, is_user=True, can_begin=True)
    turns.data, turns.sizes[0] = Chunks(data), len(data)

    assert [] == mark_last(turns, CACHING, "5m", None)


def test_old_breakpoints_are_forgotten() -> None:
    """Of many breakpoints only the items of the newest are kept: no API accepts more than a few."""
    assert CACHING is not None
    turns = EncodedTurns()
    for seq in range(1, 13):
        item = turn({"type": "text", "text": str(seq), **MARK})
        turns.add([item], seq, is_user=True, can_begin=True, marks=Marks(CACHING, [(seq, 0)]))

    assert [4, 8] == [sum((each.item is None) == lost for each in turns.marked) for lost in (True, False)]


def test_an_item_without_breakpoints_in_a_turn_with_some() -> None:
    """Only items with breakpoints are noted, with the places where their bytes are."""
    assert CACHING is not None
    turns = EncodedTurns()
    plain, marked = turn({"type": "text", "text": "a"}), turn({"type": "text", "text": "b", **MARK})
    turns.add([plain, marked], 1, is_user=True, can_begin=True, marks=Marks(CACHING, [(2, 0)]))

    assert [marked] == [each.item for each in turns.marked]
    assert b'"b"' in turns.data.read(turns.marked[0].offset, len(turns.data))
