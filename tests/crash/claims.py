"""Whose is each command of the log? Every one belongs to one call, and every call that was acknowledged has one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tests.crash.history import Call, Command

Place = tuple[str, int]

# The kind of the first event that a method writes.
KINDS = {
    "create": "created",
    "add": "user",
    "clear": "clear",
    "mark": "mark",
    "rewind": "rewind",
    "restore": "restore",
    "undo": "restore",
    "redo": "restore",
    "clone": "clone",
    "kill": "agent_killed",
    "revive": "revived",
}


class Claims:
    """The attempts behind each command, and what was wrong with it."""

    def __init__(self) -> None:
        self.attempts: dict[Place, list[Call]] = {}
        self.problems: list[str] = []


def claim(calls: Sequence[Call], log: Sequence[Command], names: Mapping[str, str]) -> Claims:
    """Find the call of each command, the acknowledged ones first.

    Args:
        calls: in the order in which each session sent its own.
        log: in the order of the commits.
        names: the agents' ids.
    """
    claims = Claims()
    there = {(command.agent, command.seq): command for command in log}
    groups = _groups(calls)
    for attempts in groups:
        _claim_acknowledged(claims, attempts, there)
    _claim_unknown(claims, groups, there, names)
    return claims


def _groups(calls: Sequence[Call]) -> list[list[Call]]:
    """Put the attempts of one command together."""
    groups: dict[object, list[Call]] = defaultdict(list)
    for call in calls:
        groups[call.key or id(call)].append(call)
    return list(groups.values())


def _claim_acknowledged(claims: Claims, attempts: list[Call], there: Mapping[Place, Command]) -> None:
    replies = [call.reply for call in attempts if call.acknowledged and call.reply is not None]
    places = {(reply.get("id") or reply["agent"], reply["command"]) for reply in replies}
    if len(places) > 1:
        claims.problems.append(f"done more than once: {attempts[0]}, at {sorted(places)}")
    for place in places:
        if place not in there:
            claims.problems.append(f"lost: {attempts[0]} was acknowledged as {place}")
        elif place in claims.attempts:
            other = claims.attempts[place][0]
            claims.problems.append(f"acknowledged twice: {there[place]} is {other} and {attempts[0]}")
        elif there[place].events[0].client not in {call.session for call in attempts}:
            claims.problems.append(f"somebody else's: {there[place]} was acknowledged to {attempts[0]}")
        else:
            claims.attempts[place] = attempts


def _claim_unknown(
    claims: Claims, groups: Sequence[list[Call]], there: Mapping[Place, Command], names: Mapping[str, str]
) -> None:
    """Give each command that is left to the first call of its session that may have written it.

    What one connection asks of one agent takes effect in the order in which it was sent.
    """
    claimed = {id(attempts[0]) for attempts in claims.attempts.values()}
    left: dict[str | None, list[tuple[Call, list[Call]]]] = defaultdict(list)
    for attempts in groups:
        for call in attempts:
            if call.unknown:
                left[call.session].append((call, attempts))
    last: dict[tuple[str | None, str], int] = defaultdict(lambda: -1)
    for place, command in there.items():
        session = command.events[0].client, command.agent
        if place not in claims.attempts:
            for call, attempts in left[session[0]]:
                if id(attempts[0]) not in claimed and call.number > last[session] and _fits(call, command, names):
                    claims.attempts[place] = attempts
                    claimed.add(id(attempts[0]))
                    break
            else:
                claims.problems.append(f"nobody asked for it, or it was refused: {command}")
                continue
        call = next(call for call in claims.attempts[place] if call.session == session[0])
        if call.number < last[session]:
            claims.problems.append(f"out of order on its connection: {command} is {call}")
        last[session] = call.number


def _fits(call: Call, command: Command, names: Mapping[str, str]) -> bool:
    """Whether a call asks for what a command wrote; the model decides about the rest."""
    params, data = call.params, command.events[0].data
    if names.get(call.target) != command.agent or KINDS.get(call.method) != command.kind:
        return False
    if call.method == "add":
        return [event.content for event in command.events] == list(params["messages"])
    if call.method in {"mark", "rewind"}:
        return bool(data.get("label") == params.get("label"))
    if call.method == "clone":
        return bool(data["from"] == names.get(call.agent))
    if command.kind == "restore":
        wanted = {"undo": {"undoes"}, "redo": {"redoes"}}.get(call.method, set())
        return {"undoes", "redoes"}.intersection(data) == wanted
    return True
