"""Whose is each command of the log? Every one belongs to one call, and every call that was acknowledged has one."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tests.crash.bodies import changes, wanted, written
from tests.crash.history import Call, Command, Living, Place

# Who ever had a name, or an id.
Bearers = Mapping[str, set[str]]

# The kind of the first event that a method writes; what says something may begin with the agent itself.
KINDS = {
    "create": "created",
    "add": "user",
    "ingest": "assistant",
    "load": "system",
    "clear": "clear",
    "mark": "mark",
    "rewind": "rewind",
    "restore": "restore",
    "undo": "restore",
    "redo": "restore",
    "clone": "clone",
    "change": "changed",
    "kill": "agent_killed",
    "revive": "revived",
}


def peers(calls: Sequence[Call], log: Sequence[Command], living: Sequence[Living]) -> Bearers:
    """Find who ever had each name.

    The log does not have a clone's first name. It is its last one, too, where nobody heard of the clone: it is only
    by its id that an agent is given another.
    """
    had: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        if call.method == "clone" and call.acknowledged and "name" in call.params:
            had[call.params["name"]].add(call.place[0])
    for command in log:
        if command.kind in {"created", "changed"} and "name" in command.events[0].data:
            had[command.events[0].data["name"]].add(command.agent)
    for one in living:
        had[one.name].add(one.agent)
        had[one.agent].add(one.agent)
    return had


class Claims:
    """The attempts behind each command, and what was wrong with it."""

    def __init__(self) -> None:
        self.attempts: dict[Place, list[Call]] = {}
        self.problems: list[str] = []

    def of(self, command: Command) -> list[Call]:
        """Give the attempts behind a command; none where nobody is known to have asked for it."""
        return self.attempts.get((command.agent, command.seq), [])


def claim(calls: Sequence[Call], log: Sequence[Command], had: Bearers) -> Claims:
    """Find the call of each command, the acknowledged ones first.

    Args:
        calls: in the order in which each session sent its own.
        log: in the order of the commits.
        had: who ever had each name.
    """
    claims = Claims()
    there = {(command.agent, command.seq): command for command in log}
    groups = _groups(calls)
    claims.problems += _used_twice(groups)
    for attempts in groups:
        _claim_acknowledged(claims, attempts, there)
    _claim_unknown(claims, groups, there, had)
    return claims


def _groups(calls: Sequence[Call]) -> list[list[Call]]:
    """Put the attempts of one command together: those of one key and one agent."""
    groups: dict[object, list[Call]] = defaultdict(list)
    for call in calls:
        groups[(call.key, call.agent) if call.key else id(call)].append(call)
    return list(groups.values())


def _used_twice(groups: Sequence[list[Call]]) -> Iterator[str]:
    """Look for a key that was acknowledged for two agents."""
    used: dict[str, Call] = {}
    for attempts in groups:
        done = next((call for call in attempts if call.key and call.acknowledged), None)
        if done is not None and (other := used.setdefault(done.key or "", done)) is not done:
            yield f"one key for two agents: {other} and {done}"


def _claim_acknowledged(claims: Claims, attempts: list[Call], there: Mapping[Place, Command]) -> None:
    places = {call.place for call in attempts if call.acknowledged}
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


def _claim_unknown(claims: Claims, groups: Sequence[list[Call]], there: Mapping[Place, Command], had: Bearers) -> None:
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
        session = command.events[0].client
        before = max(last[session, agent] for agent in command.heads)
        if place not in claims.attempts:
            for call, attempts in left[session]:
                if id(attempts[0]) not in claimed and call.number > before and _fits(call, command, had):
                    claims.attempts[place] = attempts
                    claimed.add(id(attempts[0]))
                    break
            else:
                claims.problems.append(f"nobody asked for it, or it was refused: {command}")
                continue
        call = next(call for call in claims.attempts[place] if call.session == session)
        if call.number < before:
            claims.problems.append(f"out of order on its connection: {command} is {call}")
        last.update({(session, agent): call.number for agent in command.heads})


def _fits(call: Call, command: Command, had: Bearers) -> bool:
    """Whether a call asks for what a command wrote; the model decides about the rest."""
    params, data = call.params, command.events[0].data
    begins = command.kind == "created" and (call.method == "create" or bool(params.get("create")))
    if command.subject not in had.get(call.target, ()) or not (begins or KINDS.get(call.method) == command.kind):
        return False
    match call.method:
        case "create" | "add" | "ingest" | "load":
            return wanted(call) == written(command)
        case "mark" | "rewind":
            return bool(data.get("label") == params.get("label"))
        case "clone":
            return data["from"] in had.get(call.agent, ())
        case "kill":
            return bool(data.get("cascade")) == bool(params.get("cascade"))
        case "change":
            return bool(data == changes(call))
    if command.kind == "restore":
        wants = {"undo": {"undoes"}, "redo": {"redoes"}}.get(call.method, set())
        return {"undoes", "redoes"}.intersection(data) == wants
    return True
