"""What is left behind when more of a message takes the place of its first parts."""

from reel.importing.adding.left_behind import pieces_of
from reel.importing.steps import Part
from tests.reel.importing.adding.test_log import event, read


def test_pieces_of_a_message() -> None:
    """They are those before it that follow each other; another one was left behind, and a record is neither."""
    events = [event(1, None, "created"), event(2, None), event(3, 2), event(4, 3, "note"), event(5, 2), event(6, 5)]
    parts = [Part(f"r{number}", []) for number in (2, 3, 4, 5, 6)]

    assert ([6, 5, 2], [3]) == pieces_of(parts, 6, read(*events))
