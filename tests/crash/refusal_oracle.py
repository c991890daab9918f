"""Decide whether there was a reason to refuse a call, or nothing to do for it."""

from collections.abc import Sequence

from tests.crash.history import Call
from tests.crash.realtime_order import Seen
from tests.crash.reference_model import Position
from tests.model import Said, Snapshot


def is_refused(call: Call) -> bool:
    """Return whether a call was refused, or there was nothing to do for it."""
    nothing_to_do = call.method in {"kill", "revive"} and call.reply is not None and not call.acknowledged
    return not call.unknown and bool(call.error or nothing_to_do)


def has_reason(call: Call, seen: Sequence[Seen]) -> bool:
    """Return whether any possible order of the commands has a reason for the outcome of a call.

    Args:
        call: the refused call.
        seen: all agents that ever had a name in the call.
    """
    meant = [one for one in seen if one.may_be(call.judge)]
    match call.error:
        case "not_found":
            return not any(one.must_be(call.data["agent"]) for one in seen)
        case "conflict" if not call.data["head"]:  # it would have created the agent
            return bool(call.params.get("create")) and not any(_must_be_alive(one, call.judge) for one in seen)
        case "exists":
            return any(_is_taken(name, seen) for name in _names(call, meant))
    return any(not one.certain or any(refuses(each, call) for each in one.positions) for one in meant) or not meant


def _names(call: Call, meant: Sequence[Seen]) -> set[str]:
    """Return the names that a call may have wanted for its agent."""
    if call.method == "revive":
        return {position.name for one in meant for position in one.positions}
    return {call.params.get("name") or call.agent}


def _must_be_alive(one: Seen, address: str) -> bool:
    """Return whether an address means this agent for an ``add`` that would create one: a dead one's name is free."""
    return one.must_be(address) and all(position.alive for position in one.positions)


def _is_taken(name: str, seen: Sequence[Seen]) -> bool:
    return any(position.alive and position.name == name for one in seen for position in one.positions)


def refuses(position: Position, call: Call) -> bool:
    """Return whether an agent in this position refuses a call with the error that it got, or has nothing to do."""
    match call.error:
        case "conflict":
            return position.head == call.data.get("head") != call.params.get("if_seq")
        case "killed":
            return not position.alive
        case None:  # it had nothing to do
            return position.alive == (call.method == "revive")
        case "nothing_to_undo":
            return not (position.can_undo if call.method == "undo" else position.can_redo)
        case "no_such_mark":
            return not _has_mark(position.now, call.params.get("label"))
    return True


def _has_mark(now: Snapshot, label: str | None) -> bool:
    """Return whether a rewind would find its mark."""
    said_after = False
    for node in reversed(now):
        if isinstance(node, Said):
            said_after = True
        elif said_after if label is None else node.label == label:
            return True
    return False
