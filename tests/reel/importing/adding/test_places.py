"""Where messages are in a log, under their own ids or other ones."""

from types import SimpleNamespace
from typing import Any

from reel.importing.adding.places import Places
from tests.reel.importing.adding.test_log import event, read


def test_places() -> None:
    """What was noted counts before what the log says; a record has no place, but comes after one."""
    writer: Any = SimpleNamespace(log=read(event(1, None, "created"), event(2, None), event(3, 2), event(4, 3, "note")))
    places = Places(writer)
    places.note("r2", 3)
    places.note("part", 2)

    assert [3, 2, 3, None, None] == [places.of_message(ref) for ref in ("r2", "part", "r3", "r4", "r9")]
    assert [3, 2, 3, 3, 7] == [places.end_of(ref, 7) for ref in ("r2", "part", "r3", "r4", "r9")]
