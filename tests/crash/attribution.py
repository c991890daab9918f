"""Attribute each command of the log to a call; every acknowledged call must have exactly one command."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.crash.bodies import changes, wanted, written
from tests.crash.history import Call, Command, FinalAgent, Place
from tests.crash.matching import Option, match

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
        return self.attempts.get(command.place, [])


def attribute(calls: Sequence[Call], log: Sequence[Command], holders: NameHolders) -> Attribution:
    """Find the call of each command.

    The commands of one connection on one agent take effect in the order in which they were sent.

    Args:
        calls: in the order in which each session sent them.
        log: in the order of the commits.
        holders: the agents that ever had each name.
    """
    attribution = Attribution()
    groups = _groups(calls)
    attribution.problems += _used_twice(groups)
    acknowledged = _attribute_acknowledged(attribution, groups, {command.place: command for command in log})
    options = _options(groups, log, acknowledged, holders)
    for commands in _related(log, options):
        _attribute_in_order(attribution, groups, commands, options)
    return attribution


def _groups(calls: Sequence[Call]) -> list[list[Call]]:
    """Group the attempts of one command: the calls with the same key and the same agent that were not refused."""
    groups: dict[object, list[Call]] = defaultdict(list)
    for call in calls:
        if call.acknowledged or call.unknown:
            groups[(call.key, call.agent) if call.key else id(call)].append(call)
    return list(groups.values())


def _used_twice(groups: Sequence[list[Call]]) -> Iterator[str]:
    """Report keys that were acknowledged for two agents."""
    used: dict[str, Call] = {}
    for attempts in groups:
        done = next((call for call in attempts if call.key and call.acknowledged), None)
        if done is not None and (other := used.setdefault(done.key or "", done)) is not done:
            yield f"one key for two agents: {other} and {done}"


def _attribute_acknowledged(
    attribution: Attribution, groups: Sequence[list[Call]], there: Mapping[Place, Command]
) -> dict[int, Place]:
    """Attribute each command that a reply names; return the places of the groups that were acknowledged."""
    acknowledged: dict[int, Place] = {}
    for number, attempts in enumerate(groups):
        places = {call.place for call in attempts if call.acknowledged}
        if len(places) > 1:
            attribution.problems.append(f"done more than once: {attempts[0]}, at {sorted(places)}")
        for place in places:
            acknowledged[number] = place
            if place not in there:
                attribution.problems.append(f"lost: {attempts[0]} was acknowledged as {place}")
            elif place in attribution.attempts:
                other = attribution.attempts[place][0]
                attribution.problems.append(f"acknowledged twice: {there[place]} is {other} and {attempts[0]}")
            elif there[place].session not in {call.session for call in attempts}:
                attribution.problems.append(f"somebody else's: {there[place]} was acknowledged to {attempts[0]}")
            else:
                attribution.attempts[place] = attempts
    return acknowledged


def _options(
    groups: Sequence[list[Call]], log: Sequence[Command], acknowledged: Mapping[int, Place], holders: NameHolders
) -> dict[Place, list[Option]]:
    """Find the calls that may have written each command."""
    of_place: dict[Place, list[Option]] = defaultdict(list)
    unknown: dict[str | None, list[Option]] = defaultdict(list)
    for number, attempts in enumerate(groups):
        for call in attempts:
            if number in acknowledged:
                of_place[acknowledged[number]].append(Option(call, number))
            else:
                unknown[call.session].append(Option(call, number))
    options: dict[Place, list[Option]] = {}
    for command in log:
        if command.place in of_place:
            own = [option for option in of_place[command.place] if option.call.session == command.session]
            first = [option for option in own if option.call.acknowledged and not option.call.repeated]
            options[command.place] = first or own
        else:
            options[command.place] = [each for each in unknown[command.session] if _fits(each.call, command, holders)]
    return options


def _related(log: Sequence[Command], options: Mapping[Place, Sequence[Option]]) -> Iterable[list[Command]]:
    """Divide a log into the commands of one connection, or of several on which the same keys were sent."""
    leaders: dict[object, object] = {}

    def leader(of: object) -> object:
        while (above := leaders.setdefault(of, of)) != of:
            of = above
        return of

    for command in log:
        for option in options[command.place]:
            leaders[leader(option.group)] = leader(command.session)
    related: dict[object, list[Command]] = defaultdict(list)
    for command in log:
        related[leader(command.session)].append(command)
    return related.values()


def _attribute_in_order(
    attribution: Attribution,
    groups: Sequence[list[Call]],
    commands: list[Command],
    options: Mapping[Place, Sequence[Option]],
) -> None:
    """Attribute commands to calls, and report those for which no choice leaves a call."""
    while len(chosen := match(commands, [options[command.place] for command in commands])) < len(commands):
        left = commands.pop(len(chosen))
        calls = [option.call for option in options[left.place]]
        if calls:
            attribution.problems.append(
                f"done twice, or out of order on its connection: {left} is {' or '.join(map(str, calls))}"
            )
        elif left.place not in attribution.attempts:
            attribution.problems.append(f"nobody asked for it, or it was refused: {left}")
    for command, option in zip(commands, chosen, strict=True):
        attribution.attempts.setdefault(command.place, groups[option.group])


def _has_head(call: Call, command: Command) -> bool:
    """Return whether `if_seq` allowed a command.

    The model decides where that is about another agent or a new one, and for a clone, whose seq is behind both heads.
    """
    is_next = command.kind not in {"created", "clone"}
    decided = call.target == call.judge and command.agent == command.subject and is_next
    return not decided or call.params.get("if_seq") in {None, command.seq - 1}


def _fits(call: Call, command: Command, holders: NameHolders) -> bool:
    """Return whether a call asks for what a command wrote; the model checks the rest."""
    params, data = call.params, command.events[0].data
    begins = command.kind == "created" and (call.method == "create" or bool(params.get("create")))
    if command.subject not in holders.get(call.target, ()) or not (begins or KINDS.get(call.method) == command.kind):
        return False
    if not _has_head(call, command):
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
