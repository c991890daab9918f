"""Bytes that only grow, in chunks."""

from hypothesis import given
from hypothesis import strategies as st

from reeld.formats.chunks import Chunks

SIZES = st.lists(st.sampled_from([0, 1, 1000, 100_000, 131_072, 300_000]), max_size=6)


@given(SIZES, st.integers(0, 700_000), st.integers(0, 700_000))
def test_chunks_are_read_as_the_bytes_that_they_are(sizes: list[int], start: int, end: int) -> None:
    """Any part of them can be read, whatever pieces they came in."""
    pieces = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    chunks, whole = Chunks(), b"".join(pieces)
    for piece in pieces:
        chunks += piece

    assert len(whole) == len(chunks)
    assert whole[start:end] == chunks.read(start, end)
    assert all(chunks.parts(start, end))


def test_what_was_read_stays_when_more_comes() -> None:
    """A part that is being sent is not the one that grows."""
    chunks = Chunks(b"a")
    (part,) = chunks.parts(0, 1)
    chunks += b"b"

    assert b"a" == part
