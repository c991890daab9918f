"""Is a history linearizable? Each agent is a small sequential machine, and its log says in which order it went.

That leaves little to search: the log names the order of the commands, the replies name their places in it, and so
does every answer to a reader. What is checked:

* Each command of the log is of exactly one call, each acknowledged call has its command, no refused one has.
* Done anew by the model, in that order, each command is possible and gives the reply that was given.
* Whoever read, or was refused, saw the agent as it stood between two commands, and found it by a name that it had.
* Order keeps to real time: what was answered before something else was sent stands before it.
* In the end each agent is what the model is.
"""

from collections.abc import Iterator, Mapping, Sequence

from tests.crash.claims import Bearers, Claims, claim, peers
from tests.crash.history import Call, Command, Event, Living, commands, said
from tests.crash.reasons import has_reason, is_refused
from tests.crash.spans import Seen, Spans
from tests.crash.world import World
from tests.model import Refused, Said


def check(calls: Sequence[Call], events: Sequence[Event], living: Sequence[Living]) -> list[str]:
    """Give what is wrong with a history; nothing where it is right.

    Args:
        calls: all that was asked, in the order in which each session sent it.
        events: the logs of all agents.
        living: the agents as they are after all.
    """
    log = commands(events)
    had = peers(calls, log, living)
    claims, world = claim(calls, log, had), World()
    spans = Spans(world)
    problems = [*claims.problems, *_out_of_sequence(events)]
    for command in log:
        problems += _redone(world, claims, command)
        spans.note_command(command, claims.of(command))
    for command in log:
        problems += _misaddressed(spans, claims, command)
    users = _users(calls)
    for call in calls:
        problems += _refused(spans, had, users, call)
        problems += _spared(world, spans, call)
        problems += _read(world, spans, call)
    problems += spans.against_time()
    for one in living:
        problems += _differs(world, one)
    return problems


def _out_of_sequence(events: Sequence[Event]) -> Iterator[str]:
    if len({event.id for event in events}) < len(events):
        yield "an event is there twice"
    last: dict[str, int] = {}
    for event in sorted(events, key=lambda event: event.id):
        if event.agent in last and event.seq != last[event.agent] + 1 and event.kind != "clone":
            yield f"seq {event.seq} follows {last[event.agent]} in the log of {event.agent}"
        last[event.agent] = event.seq


def _redone(world: World, claims: Claims, command: Command) -> Iterator[str]:
    """Do a command in the model, and compare what was answered."""
    attempts = claims.of(command)
    if not attempts:
        return  # which has been said
    try:
        expected = world.do(attempts[0], command)
    except (Refused, KeyError) as error:
        yield f"not possible ({error!r}): {command} of {attempts[0]}"
        return
    for agent, head in command.heads.items():
        if head != world.agents[agent].head:
            yield f"{command} ends at {head} of {agent}, in the model at {world.agents[agent].head}"
    for call in attempts:
        reply = call.reply or {}
        if call.acknowledged and expected != {name: reply.get(name) for name in expected}:
            yield f"{call} was answered {dict(reply)}, expected {expected}"


def _misaddressed(spans: Spans, claims: Claims, command: Command) -> Iterator[str]:
    """Look whether whom a command was done to, and who was cloned, had the names under which they were asked."""
    attempts = claims.of(command)
    for call in attempts[:1]:
        pairs = {(command.subject, call.target)}
        if command.kind == "clone":
            pairs.add((command.events[0].data["from"], call.agent))
        for agent, address in pairs:
            if not any(spans.seen(agent, attempt).may_be(address) for attempt in attempts):
                yield f"{agent} was not to be found at {address}: {command} of {call}"


def _users(calls: Sequence[Call]) -> dict[str | None, set[str]]:
    """Find the agents for which each key may have been used."""
    users: dict[str | None, set[str]] = {}
    for call in calls:
        if call.acknowledged or call.unknown:
            users.setdefault(call.key, set()).add(call.agent)
    return users


def _refused(spans: Spans, had: Bearers, users: Mapping[str | None, set[str]], call: Call) -> Iterator[str]:
    """Look for a position in which there was a reason to refuse, or nothing to do."""
    if "key" in call.data:
        if call.agent == call.data["agent"] or call.data["agent"] not in users.get(call.key, ()):
            yield f"the key was not used for this agent: {call}"
    elif is_refused(call) and not has_reason(call, _concerned(spans, had, call)):
        yield f"no reason for {call.error or 'doing nothing'}: {call}"


def _concerned(spans: Spans, had: Bearers, call: Call) -> list[Seen]:
    """Give everybody who ever had a name that a call is about, or one of theirs."""
    addresses = {call.judge, call.agent, call.params.get("name") or call.agent}
    agents = {agent for address in addresses for agent in had.get(address, ())}
    names = {position.name for agent in agents for position in spans.seen(agent, call).positions}
    agents |= {agent for name in names for agent in had[name]}
    return [spans.seen(agent, call) for agent in agents]


def _spared(world: World, spans: Spans, call: Call) -> Iterator[str]:
    """Look for a clone that lived all the while, though a cascade found nobody to kill."""
    if call.params.get("cascade") and call.reply is not None and not call.acknowledged:
        for clone in world.descendants(call.reply["agent"]):
            seen = spans.seen(clone, call)
            if seen.certain and all(position.alive for position in seen.positions):
                yield f"{clone} was spared by {call}"


def _read(world: World, spans: Spans, call: Call) -> Iterator[str]:
    """Compare what was read with the agent as it stood at that head."""
    if call.method == "messages" and call.reply is not None:
        agent, head, records = call.reply["agent"], call.reply["head"], said(call.reply["conversation"])
        states = [position.now for position in world.positions.get(agent, ()) if position.head == head]
        if records not in [tuple(node for node in now if isinstance(node, Said)) for now in states]:
            yield f"{call} read at {head} what never was: {records}"
        if not spans.seen(agent, call).may_be(call.agent):
            yield f"{agent} was not to be found at {call.agent}: {call}"
        spans.note_read(agent, head, call)


def _differs(world: World, agent: Living) -> Iterator[str]:
    model = world.agents.get(agent.agent)
    if model is None:
        yield f"agent {agent.name} has no log"
        return
    shown = (agent.head, agent.alive, list(agent.records), list(agent.marks), agent.name, agent.title, agent.tags)
    wanted = (model.head, model.alive, model.records, model.marks, *world.called[agent.agent])
    if shown != wanted:
        yield f"agent {agent.name} is {shown}, in the model {wanted}"
