"""What is sent at a time: all of what waits, and never half a message by choice."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from reeld.serving.outbox import pieces

LENGTH = 20


@given(st.lists(st.integers(1, 3 * LENGTH), min_size=1, max_size=12))
def test_pieces(sent: list[int]) -> None:
    """Nothing is lost; a piece has a bound; messages that fit are whole, and together where they fit together."""
    messages = [bytes([number]) * length for number, length in enumerate(sent)]
    found = list(pieces(messages, LENGTH))

    assert b"".join(messages) == b"".join(found)
    assert all(0 < len(piece) <= LENGTH for piece in found)
    for message in messages:
        if len(message) <= LENGTH:
            assert any(message in piece for piece in found)
    for before, after in pairwise(found):
        assert max(sent[before[0]], len(before) + sent[after[0]]) > LENGTH


def test_a_few_messages_are_one_piece() -> None:
    """What fits goes out at once."""
    assert [b"abc"] == list(pieces([b"a", b"b", b"c"]))
