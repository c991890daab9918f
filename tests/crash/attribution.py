"""Attribute each command of the log to a call; every acknowledged call must have exactly one command."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tests.crash.bodies import changes, wanted, written
from tests.crash.history import Call, Command, FinalAgent, Place

# The ids of all agents that ever had a name or an id.
NameHolders = Mapping[str, set[str]]

# The kind of the first event that a method writes. With ``create``, a method may write `created` first.
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


def name_holders(calls: Sequence[Call], log: Sequence[Command], final: Sequence[FinalAgent]) -> NameHolders:
    """Return the ids of the agents that ever had each name.

    The log does not record a clone's first name. If no reply told a client about the clone, its first name is also
    its last: clients rename an agent only by its id.
    """
    holders: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        if call.method == "clone" and call.acknowledged and "name" in call.params:
            holders[call.params["name"]].add(call.place[0])
    for command in log:
        if command.kind in {"created", "changed"} and "name" in command.events[0].data:
            holders[command.events[0].data["name"]].add(command.agent)
    for one in final:
        holders[one.name].add(one.agent)
        holders[one.agent].add(one.agent)
    return holders


class Attribution:
    """The attempts behind each command, and the problems found on the way."""

    def __init__(self) -> None:
        self.attempts: dict[Place, list[Call]] = {}
        self.problems: list[str] = []

    def of(self, command: Command) -> list[Call]:
        """Return the attempts behind a command; none if no call asked for it."""
        return self.attempts.get((command.agent, command.seq), [])


def attribute(calls: Sequence[Call], log: Sequence[Command], holders: NameHolders) -> Attribution:
    """Find the call of each command, acknowledged calls first.

    Args:
        calls: in the order in which each session sent them.
        log: in the order of the commits.
        holders: the agents that ever had each name.
    """
    attribution = Attribution()
    there = {(command.agent, command.seq): command for command in log}
    groups = _groups(calls)
    attribution.problems += _used_twice(groups)
    for attempts in groups:
        _attribute_acknowledged(attribution, attempts, there)
    _attribute_unknown(attribution, groups, there, holders)
    return attribution


def _groups(calls: Sequence[Call]) -> list[list[Call]]:
    """Group the attempts of one command: the calls with the same key and the same agent."""
    groups: dict[object, list[Call]] = defaultdict(list)
    for call in calls:
        groups[(call.key, call.agent) if call.key else id(call)].append(call)
    return list(groups.values())


def _used_twice(groups: Sequence[list[Call]]) -> Iterator[str]:
    """Report keys that were acknowledged for two agents."""
    used: dict[str, Call] = {}
    for attempts in groups:
        done = next((call for call in attempts if call.key and call.acknowledged), None)
        if done is not None and (other := used.setdefault(done.key or "", done)) is not done:
            yield f"one key for two agents: {other} and {done}"


def _attribute_acknowledged(attribution: Attribution, attempts: list[Call], there: Mapping[Place, Command]) -> None:
    places = {call.place for call in attempts if call.acknowledged}
    if len(places) > 1:
        attribution.problems.append(f"done more than once: {attempts[0]}, at {sorted(places)}")
    for place in places:
        if place not in there:
            attribution.problems.append(f"lost: {attempts[0]} was acknowledged as {place}")
        elif place in attribution.attempts:
            other = attribution.attempts[place][0]
            attribution.problems.append(f"acknowledged twice: {there[place]} is {other} and {attempts[0]}")
        elif there[place].events[0].client not in {call.session for call in attempts}:
            attribution.problems.append(f"somebody else's: {there[place]} was acknowledged to {attempts[0]}")
        else:
            attribution.attempts[place] = attempts


def _attribute_unknown(
    attribution: Attribution, groups: Sequence[list[Call]], there: Mapping[Place, Command], holders: NameHolders
) -> None:
    """Attribute each remaining command to the first call of its session that may have written it.

    The commands of one connection on one agent take effect in the order in which they were sent.
    """
    attributed = {id(attempts[0]) for attempts in attribution.attempts.values()}
    left: dict[str | None, list[tuple[Call, list[Call]]]] = defaultdict(list)
    for attempts in groups:
        for call in attempts:
            if call.unknown:
                left[call.session].append((call, attempts))
    last: dict[tuple[str | None, str], int] = defaultdict(lambda: -1)
    for place, command in there.items():
        session = command.events[0].client
        before = max(last[session, agent] for agent in command.heads)
        if place not in attribution.attempts:
            for call, attempts in left[session]:
                if id(attempts[0]) not in attributed and call.number > before and _fits(call, command, holders):
                    attribution.attempts[place] = attempts
                    attributed.add(id(attempts[0]))
                    break
            else:
                attribution.problems.append(f"nobody asked for it, or it was refused: {command}")
                continue
        call = next(call for call in attribution.attempts[place] if call.session == session)
        if call.number < before:
            attribution.problems.append(f"out of order on its connection: {command} is {call}")
        last.update({(session, agent): call.number for agent in command.heads})


def _fits(call: Call, command: Command, holders: NameHolders) -> bool:
    """Return whether a call asks for what a command wrote; the model checks the rest."""
    params, data = call.params, command.events[0].data
    begins = command.kind == "created" and (call.method == "create" or bool(params.get("create")))
    if command.subject not in holders.get(call.target, ()) or not (begins or KINDS.get(call.method) == command.kind):
        return False
    match call.method:
        case "create" | "add" | "ingest" | "load":
            return wanted(call) == written(command)
        case "mark" | "rewind":
            return bool(data.get("label") == params.get("label"))
        case "clone":
            return data["from"] in holders.get(call.agent, ())
        case "kill":
            return bool(data.get("cascade")) == bool(params.get("cascade"))
        case "change":
            return bool(data == changes(call))
    if command.kind == "restore":
        wants = {"undo": {"undoes"}, "redo": {"redoes"}}.get(call.method, set())
        return {"undoes", "redoes"}.intersection(data) == wants
    return True
