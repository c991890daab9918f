"""The context in which turns are written."""

from reel.providers.changes import Change
from reeld.formats.model import Piece, RenderContext


def test_a_note_names_the_seq_and_the_block() -> None:
    """The report has a line with the place of the piece."""
    context = RenderContext("m")
    context.note(Piece({"seq": 7}, 0, 3, {}), "dropped", "why")

    assert [Change(7, 3, "dropped", "why")] == context.report
    assert {"seq": 7, "block": 3, "action": "dropped", "why": "why"} == context.report[0].as_map()
