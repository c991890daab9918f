"""What an importer knows of a log: messages by their ids in the source, and the tree that they form."""

from typing import Any

import pytest

from reel.importing.adding.log import Log, brought_by, in_log, ref_for


def event(seq: int, parent: int | None, kind: str = "user", command: int = 0, **more: Any) -> Any:
    """Return an event of the importer, with a ref."""
    above = None if parent is None else {"agent": "a", "seq": parent}
    return {
        "seq": seq,
        "parent": above,
        "kind": kind,
        "command": command or seq,
        "client": "me",
        "ref": f"r{seq}",
        **more,
    }


def read(*events: Any) -> Log:
    """Return the log of events."""
    log = Log()
    log.read(events, "me")
    return log


def test_a_log() -> None:
    """The last message is the tip, the last event the head, and each is found by its id."""
    log = read(event(1, None, "created"), event(2, None), event(3, 2), event(4, 3, "usage"))

    assert (3, 4, 3) == (log.tip, log.head, log.newest)
    assert [2, 4, None] == [log.place_of(ref) for ref in ("r2", "r4", "r9")]


@pytest.mark.parametrize(
    ("kind", "changed"), [("user", True), ("mark", True), ("rewind", True), ("clone", True), ("note", False)]
)
def test_somebody_else_wrote(kind: str, changed: bool) -> None:
    """It was changed here if another client wrote what is part of the conversation, or moved it; a note is neither."""
    assert changed == read(event(2, None), event(3, 2, kind, client="vim")).changed
    assert not read(event(2, None), event(3, 2, kind)).changed


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('{"by":"prune","events":1}', (True, False)),
        ('{"by":"text","events":1}', (False, True)),
        ("{", (False, True)),
        ("[]", (False, True)),
        (None, (False, True)),
    ],
)
def test_what_was_removed(data: str | None, expected: tuple[bool, bool]) -> None:
    """A prune is no redaction; what is damaged may have been one."""
    log = read(event(2, None), event(3, 2, "redacted", data_json=data))
    assert expected == (log.is_pruned, log.is_redacted)


def test_what_follows_a_place() -> None:
    """The message after it on the way to the tip: of another branch nothing is, and marks are no messages."""
    log = read(event(2, None), event(3, 2, "mark"), event(4, 3), event(5, 2, "rewind"), event(6, 2))

    assert [2, 6, None, None] == [log.after(place) for place in (None, 2, 6, 4)]
    log = read(event(2, None), event(3, 2, "mark"), event(4, 3))
    assert [2, 4, 4] == [log.after(place) for place in (None, 2, 3)]


def test_what_is_added() -> None:
    """Messages move the tip and records do not; the events of one command end where its last message does."""
    log = read(event(2, None))
    log.add(3, 3, "u", is_message=True)
    log.add(4, 3, "a", is_message=True)
    log.add(5, 5, "n", is_message=False)

    assert (4, 5, 4) == (log.tip, log.head, log.newest)
    assert [3, 4, 5] == [log.place_of(ref) for ref in ("u", "a", "n")]
    assert [(3, 4), (4, 4)] == [log.state_with(place) for place in (3, 4)]


def test_going_back() -> None:
    """The tip moves; what was left is found, and is on no way to the tip."""
    log = read(event(2, None), event(3, 2))
    log.go_to(2, 4)

    assert (2, 4, 3) == (log.tip, log.head, log.newest)
    assert log.after(3) is None


def test_what_a_clone_brought() -> None:
    """It is found by its seq, although the log has an event with that as well; the state with it is the clone's."""
    log = read(event(1, None, "created"), event(2, None), event(5, 2))
    for seq, before in ((5, None), (7, brought_by(9, 5))):
        log.bring(brought_by(9, seq), before)
    log.take(event(9, 7, "clone"), brought_by(9, 7), "me")
    log.take(event(10, 7), brought_by(9, 7), "me")
    log.settle()

    assert [5, 7, 10, None, None] == [log.after(place) for place in (None, 5, 7, 10, 2)]
    assert [(2, 2), (9, 7), (9, 7), (10, 10)] == [log.state_with(place) for place in (2, 5, 7, 10)]
    log.go_to(5, 11)
    assert [True, False] == [log.has(brought_by(9, 5)), log.has(in_log(5))]
    assert (5, brought_by(9, 5)) == (log.tip, log.tree.tip)


def test_an_event_and_what_a_clone_brought_with_its_seq() -> None:
    """When the clone is undone, the event counts."""
    log = read(event(1, None, "created"), event(5, None))
    log.bring(brought_by(9, 5), None)
    log.take(event(9, 5, "clone"), brought_by(9, 5), "me")
    log.take(event(10, 5, "restore"), in_log(5), "me")
    log.settle()

    assert [False, True] == [log.has(brought_by(9, 5)), log.has(in_log(5))]
    assert (5, 5) == log.state_with(5)


@pytest.mark.parametrize("ref", ["x" * 257, "é", "a\tb", ""])
def test_an_id_that_the_daemon_would_refuse(ref: str) -> None:
    """A hash of it stands for it, the same one each time."""
    assert ref_for(ref).startswith("hash-")
    assert ref_for(ref) == ref_for(ref) != ref_for(ref + "x")


def test_an_id_that_it_accepts() -> None:
    """It stays as it is."""
    assert "x" * 256 == ref_for("x" * 256)
