"""clear, mark, rewind, restore, undo and redo."""

import pytest

from tests.reel.cli.conftest import Reel, texts


def test_clear_and_restore(reel: Reel, talk: str) -> None:
    """A cleared conversation is restored by its seq."""
    assert (0, f"{talk}: cleared\n", "") == reel("clear", talk)
    assert [] == texts(reel, talk)
    assert (0, f"{talk}: restored to #4\n", "") == reel("restore", talk, "4")
    assert 2 == len(texts(reel, talk))


def test_rewind_to_a_label_or_the_newest_mark(reel: Reel, talk: str) -> None:
    """A rewind goes to the label, or to the newest mark with messages after it."""
    assert f"{talk}: marked as draft (#5)\n" == reel("mark", talk, "draft").out
    reel("add", talk, "dropped")
    assert f"{talk}: back at draft (#5); 1 message set aside\n" == reel("rewind", talk, "draft").out
    reel("add", talk, "dropped")
    assert f"{talk}: back at draft (#5); 1 message set aside\n" == reel("rewind", talk).out
    assert 2 == len(texts(reel, talk))


def test_rewind_to_an_unknown_label(reel: Reel, talk: str) -> None:
    """The error lists the existing labels."""
    reel("mark", talk, "draft")
    refused = reel("rewind", talk, "darft")

    assert 1 == refused.status
    assert refused.err.startswith(f"reel: no_such_mark: conversation {talk} has no mark darft")
    assert "draft" in refused.err


def test_undo_and_redo_until_nothing_is_left(reel: Reel, talk: str) -> None:
    """Undo and redo go back and forth until nothing is left."""
    assert f"{talk}: undid #4\n" == reel("undo", talk).out
    assert 1 == len(texts(reel, talk))
    assert f"{talk}: redid #4\n" == reel("redo", talk).out
    assert 2 == len(texts(reel, talk))
    refused = reel("redo", talk)
    assert 1 == refused.status
    assert refused.err.startswith("reel: nothing_to_undo: ")
    assert refused.err.endswith(f"see what happened with: reel log {talk}\n")


def test_undo_says_what_it_undid(reel: Reel, talk: str) -> None:
    """A command that is not a message has its name, and one of several messages all of them."""
    reel("add", talk, "--file", "-", stdin=b'"one"\n"two"\n')
    reel("clear", talk)
    undone = [reel("undo", talk).out for _ in range(2)]

    assert [f"{talk}: undid the clear (#7)\n", f"{talk}: undid #5-#6\n"] == undone
    assert f"{talk}: redid #5-#6\n" == reel("redo", talk).out


def test_restore_to_a_position_from_the_end(reel: Reel, talk: str) -> None:
    """A position may be counted from the end, as everywhere."""
    reel("add", talk, "one more")

    assert f"{talk}: restored to #4\n" == reel("restore", talk, "@~1").out
    assert ["What is a tape deck?", "A machine."] == texts(reel, talk)


@pytest.mark.parametrize("word", ["x", "", "9" * 20, "~", "@first", "--5"])
def test_restore_to_what_is_not_a_position(reel: Reel, talk: str, word: str) -> None:
    """It is refused, with what can be written."""
    ran = reel("restore", talk, "--", word)

    assert 2 == ran.status
    assert f"'{word}' is not a position; write 12, #12, @last (the newest message) or @~2 (two before it)" in ran.err


def test_undo_a_turn(reel: Reel, talk: str) -> None:
    """A turn of several commands is taken back at once, and one undo brings it back."""
    reel("add", talk, "--role", "assistant", "Of sound.")
    assert (0, f"{talk}: took back the turn from #3 on; 3 messages set aside\n", "") == reel("undo", talk, "--turn")
    assert [] == texts(reel, talk)
    refused = reel("undo", talk, "--turn")
    assert (1, True) == (refused.status, refused.err.startswith("reel: nothing_to_undo: the conversation has no"))
    reel("undo", talk)
    assert 3 == len(texts(reel, talk))
    assert 5 == reel("undo", talk, "--turn", "--if-seq", "3").status
