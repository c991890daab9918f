"""The table of formats."""

from reel.said.formats import ANSWERING_FORMATS
from reel.said.formats import FORMATS as NAMES
from reel.streams.stream import ASSEMBLERS
from reeld.formats.table import FORMATS


def test_client_and_daemon_have_the_same_formats() -> None:
    """The names that the client lists are those that the daemon renders."""
    assert NAMES == tuple(FORMATS)


def test_a_format_with_responses_has_streams() -> None:
    """The formats that the client lists as answering are those of which a response or a stream is read."""
    assert ANSWERING_FORMATS == tuple(ASSEMBLERS)
    assert ANSWERING_FORMATS == tuple(name for name, found in FORMATS.items() if found.read_response is not None)
