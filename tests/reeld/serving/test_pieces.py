"""Pieces to send: everything that is queued, without splitting messages that fit."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reeld.serving.outbox import pieces

LENGTH = 20


@given(st.lists(st.integers(1, 3 * LENGTH), min_size=1, max_size=12))
def test_pieces_of_a_queue(sent: list[int]) -> None:
    """Nothing is lost, pieces have a limit, and messages that fit are whole, and joined if they fit together."""
    messages = [bytes([number]) * length for number, length in enumerate(sent)]
    found = [bytes(piece) for piece in pieces(messages, LENGTH)]

    assert b"".join(messages) == b"".join(found)
    assert all(0 < len(piece) <= LENGTH for piece in found)
    for message in messages:
        if len(message) <= LENGTH:
            assert any(message in piece for piece in found)
    for before, after in pairwise(found):
        assert max(sent[before[0]], len(before) + sent[after[0]]) > LENGTH


def test_a_few_messages_are_one_piece() -> None:
    """A few small messages are one piece."""
    assert [b"abc"] == list(pieces([b"a", b"b", b"c"]))
