"""Which keys a terminal's bytes stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.cli.screen.keys import Key, Keys

PIECES = st.lists(
    st.sampled_from([b"a", "é".encode(), "修".encode(), "🎧".encode(), b"\x1b[A", b"\x1bOB", b"\x1b[200~x\ny\x1b[201~"])
)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"a\r", ["a", Key.ENTER]),
        ("修🎧".encode(), ["修", "🎧"]),
        (b"\x1b[A\x1bOB\x1b[5~\x1b[6~", [Key.UP, Key.DOWN, Key.PAGE_UP, Key.PAGE_DOWN]),
        (b"\x10\x0e\x17\x15\x7f\x04", [Key.UP, Key.DOWN, Key.DELETE_WORD, Key.DELETE_LINE, Key.BACKSPACE, Key.END]),
        (b"\x1b[1;5C\x1bx\t\x00z", [Key.TAB, "z"]),
        (b"\x1b\x1b[A", [Key.ESCAPE, Key.UP]),
        (b"\x1b[200~two\nlines \x1b[31m\x1b[201~!", ["two lines [31m", "!"]),
        (b"\xff", ["\ufffd"]),
    ],
)
def test_keys(sent: bytes, expected: list[object]) -> None:
    """Bytes are keys and texts; what is pasted is one line, and nothing in it is a key."""
    assert expected == Keys().feed(sent)


def test_an_escape_alone() -> None:
    """An escape is a key if nothing else has come."""
    keys = Keys()

    assert ([], True) == (keys.feed(b"\x1b"), keys.waits)
    assert ([Key.ESCAPE], False) == (keys.settle(), keys.waits)
    assert ["a"] == keys.feed(b"a")


@given(PIECES)
def test_keys_byte_by_byte(pieces: list[bytes]) -> None:
    """Bytes that come one by one are the same keys."""
    sent, keys = b"".join(pieces), Keys()
    whole = Keys().feed(sent)

    assert whole == [key for byte in sent for key in keys.feed(bytes([byte]))]
