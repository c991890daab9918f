"""What repair keeps between two exchanges."""

from reeld.formats.model import Piece
from reeld.formats.repair_state import RepairState
from tests.reeld.formats.histories import call


def piece(seq: int, given_id: str = "c1", name: str = "look") -> Piece:
    return Piece({"seq": seq}, seq, 0, call(given_id, name))


def test_a_restored_state_sends_the_same_ids_again() -> None:
    """The ids that were used meanwhile are free again; the names of tools stay."""
    state = RepairState()
    state.add_call(piece(1))
    saved = state.save()
    before = state.add_call(piece(2, name="a.b"))
    state.restore(saved)

    assert before == state.add_call(piece(2, name="a.b"))
    assert ["a.b"] == list(state.tool_names.values())


def test_a_restored_state_has_its_pending_and_abandoned_calls() -> None:
    """What happened after it was saved is forgotten."""
    state = RepairState()
    state.pending = (state.add_call(piece(1)),)
    saved = state.save()
    state.abandon(state.pending[0])
    state.pending = ()
    state.restore(saved)

    assert (1, {}) == (len(state.pending), state.abandoned)


def test_the_newest_abandoned_call_of_an_id_is_popped_first() -> None:
    """Each is answered once; an unknown id answers none."""
    state = RepairState()
    first, second = state.add_call(piece(1)), state.add_call(piece(2))
    state.abandon(first)
    state.abandon(second)

    assert [second, first, None] == [state.pop_abandoned("c1") for _ in range(3)]


def test_open_calls_are_in_the_order_in_which_they_were_made() -> None:
    """Abandoned ones and pending ones are open."""
    state = RepairState()
    state.pending = (state.add_call(piece(3)),)
    state.abandon(state.add_call(piece(2, "c2")))
    state.abandon(state.add_call(piece(1, "c3")))

    assert [1, 2, 3] == [opened.seq for opened in state.open_calls()]
