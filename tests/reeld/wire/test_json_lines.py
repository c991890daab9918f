"""JSON-RPC in lines: each line is a message."""

import pytest

from reel.base.errors import ParseError, TooLarge
from reel.wire.frames import Notification
from reeld.wire.json_framing import Lines
from tests.reeld.wire.frames import fed, readable

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"  \n", b"\t\r\n \n\n"])
def test_blank_lines_count_for_nothing(blank: bytes) -> None:
    """Blank lines are ignored, and spaces around a message are allowed."""
    message = b' {"method": "x"} \r\n'
    expected = [Notification("x", None, len(message) - 1)] * 2

    assert expected == fed(Lines(), [blank + message + blank + message + blank])


@pytest.mark.parametrize("end", [b"", b" ", b"\r"])
def test_a_last_line_without_its_end_in_json_rpc(end: bytes) -> None:
    """The end of the stream ends the last line; nothing is left after it, or after blanks."""
    framing = Lines()
    assert [] == framing.feed(b'{"method":"x"}' + end)

    assert [Notification("x", None, 14 + len(end))] == framing.end()
    assert [] == framing.end()


def test_a_last_line_that_is_cut_off() -> None:
    """A line that is cut off is not JSON."""
    framing = Lines()
    framing.feed(b'{"method":')

    ((error, _, fatal),) = map(readable, framing.end())
    assert (ParseError, False) == (error, fatal)


@pytest.mark.parametrize("end", [b"\n", b""])
@pytest.mark.parametrize("over", [0, 1])
def test_the_limit_of_a_line(over: int, end: bytes) -> None:
    """A line may be as long as the limit, without its newline; a longer one ends the stream at once."""
    message = b'{"method":"x"}'
    framing = Lines(len(message) - over)
    frames = fed(framing, [message + end]) + list(map(readable, framing.end()))

    if over:
        assert [(TooLarge, "too_large: a message may have 13 bytes; send it in parts", True)] == frames
        assert [] == framing.feed(message + b"\n")
    else:
        assert [Notification("x", None, 14)] == frames
