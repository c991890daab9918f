"""The table of formats."""

from reel.formats import FORMATS as NAMES
from reel.streams.stream import ASSEMBLERS
from reeld.formats.table import FORMATS


def test_client_and_daemon_have_the_same_formats() -> None:
    """The names that the client lists are those that the daemon renders and that a stream can be assembled for."""
    assert NAMES == tuple(FORMATS) == tuple(ASSEMBLERS)
