"""Check that a history is linearizable. Each agent is a small sequential machine, and its log is the order it claims.

So there is little to search: the log gives the order of the commands, and each reply names a position in it, for a
command as well as for a read. The checker verifies:

* Each command of the log belongs to exactly one call. Each acknowledged call has a command, no refused call has one.
* The model, which executes the commands again in that order, accepts each and returns the reply that the client got.
* A read or a refusal reflects the agent between two commands, and found it by a name that it had at that time.
* The order respects real time: a call that was answered before another was sent comes first in the log.
* In the end each agent equals the model.
"""

from collections.abc import Iterator, Mapping, Sequence

from tests.crash.attribution import Attribution, NameHolders, attribute, name_holders
from tests.crash.history import Call, Command, Event, FinalAgent, commands, said
from tests.crash.realtime_order import RealtimeOrder, Seen
from tests.crash.reference_model import ReferenceModel
from tests.crash.refusal_oracle import has_reason, is_refused
from tests.model import Refused, Said


def check(calls: Sequence[Call], events: Sequence[Event], final: Sequence[FinalAgent]) -> list[str]:
    """Return the problems of a history; none if it is linearizable.

    Args:
        calls: all calls, in the order in which each session sent them.
        events: the logs of all agents.
        final: the agents at the end.
    """
    log = commands(events)
    holders = name_holders(calls, log, final)
    attribution, reference = attribute(calls, log, holders), ReferenceModel()
    realtime = RealtimeOrder(reference)
    problems = [*attribution.problems, *_out_of_sequence(events)]
    for command in log:
        problems += _redone(reference, attribution, command)
        realtime.note_command(command, attribution.of(command))
    for command in log:
        problems += _misaddressed(realtime, attribution, command)
    users = _users(calls)
    for call in calls:
        problems += _refused(realtime, holders, users, call)
        problems += _spared(reference, realtime, call)
        problems += _read(reference, realtime, call)
    problems += realtime.against_time()
    for one in final:
        problems += _differs(reference, one)
    return problems


def _out_of_sequence(events: Sequence[Event]) -> Iterator[str]:
    if len({event.id for event in events}) < len(events):
        yield "an event is there twice"
    last: dict[str, int] = {}
    for event in sorted(events, key=lambda event: event.id):
        if event.agent in last and event.seq != last[event.agent] + 1 and event.kind != "clone":
            yield f"seq {event.seq} follows {last[event.agent]} in the log of {event.agent}"
        last[event.agent] = event.seq


def _redone(reference: ReferenceModel, attribution: Attribution, command: Command) -> Iterator[str]:
    """Execute a command in the model, and compare the replies."""
    attempts = attribution.of(command)
    if not attempts:
        return  # the attribution has reported it
    try:
        expected = reference.do(attempts[0], command)
    except (Refused, KeyError) as error:
        yield f"not possible ({error!r}): {command} of {attempts[0]}"
        return
    for agent, head in command.heads.items():
        if head != reference.agents[agent].head:
            yield f"{command} ends at {head} of {agent}, in the model at {reference.agents[agent].head}"
    for call in attempts:
        reply = call.reply or {}
        if call.acknowledged and expected != {name: reply.get(name) for name in expected}:
            yield f"{call} was answered {dict(reply)}, expected {expected}"


def _misaddressed(realtime: RealtimeOrder, attribution: Attribution, command: Command) -> Iterator[str]:
    """Report a command whose agent, or whose clone's source, did not have the name in the call at that time."""
    attempts = attribution.of(command)
    for call in attempts[:1]:
        pairs = {(command.subject, call.target)}
        if command.kind == "clone":
            pairs.add((command.events[0].data["from"], call.agent))
        for agent, address in pairs:
            if not any(realtime.seen(agent, attempt).may_be(address) for attempt in attempts):
                yield f"{agent} was not to be found at {address}: {command} of {call}"


def _users(calls: Sequence[Call]) -> dict[str | None, set[str]]:
    """Return the agents for which each key may have been used."""
    users: dict[str | None, set[str]] = {}
    for call in calls:
        if call.acknowledged or call.unknown:
            users.setdefault(call.key, set()).add(call.agent)
    return users


def _refused(
    realtime: RealtimeOrder, holders: NameHolders, users: Mapping[str | None, set[str]], call: Call
) -> Iterator[str]:
    """Report a refusal, or a call with nothing to do, that no position of the agents explains."""
    if "key" in call.data:
        if call.agent == call.data["agent"] or call.data["agent"] not in users.get(call.key, ()):
            yield f"the key was not used for this agent: {call}"
    elif is_refused(call) and not has_reason(call, _concerned(realtime, holders, call)):
        yield f"no reason for {call.error or 'doing nothing'}: {call}"


def _concerned(realtime: RealtimeOrder, holders: NameHolders, call: Call) -> list[Seen]:
    """Return the agents that ever had a name in the call, and those that ever had one of their names."""
    addresses = {call.judge, call.agent, call.params.get("name") or call.agent}
    agents = {agent for address in addresses for agent in holders.get(address, ())}
    names = {position.name for agent in agents for position in realtime.seen(agent, call).positions}
    agents |= {agent for name in names for agent in holders[name]}
    return [realtime.seen(agent, call) for agent in agents]


def _spared(reference: ReferenceModel, realtime: RealtimeOrder, call: Call) -> Iterator[str]:
    """Report a clone that was alive during all of a cascade that killed no agent."""
    if call.params.get("cascade") and call.reply is not None and not call.acknowledged:
        for clone in reference.descendants(call.reply["agent"]):
            seen = realtime.seen(clone, call)
            if seen.certain and all(position.alive for position in seen.positions):
                yield f"{clone} was spared by {call}"


def _read(reference: ReferenceModel, realtime: RealtimeOrder, call: Call) -> Iterator[str]:
    """Compare the records that a client read with the agent at that head."""
    if call.method == "messages" and call.reply is not None:
        agent, head, records = call.reply["agent"], call.reply["head"], said(call.reply["conversation"])
        states = [position.now for position in reference.positions.get(agent, ()) if position.head == head]
        if records not in [tuple(node for node in now if isinstance(node, Said)) for now in states]:
            yield f"{call} read at {head} what never was: {records}"
        if not realtime.seen(agent, call).may_be(call.agent):
            yield f"{agent} was not to be found at {call.agent}: {call}"
        realtime.note_read(agent, head, call)


def _differs(reference: ReferenceModel, agent: FinalAgent) -> Iterator[str]:
    model = reference.agents.get(agent.agent)
    if model is None:
        yield f"agent {agent.name} has no log"
        return
    shown = (agent.head, agent.alive, list(agent.records), list(agent.marks), agent.name, agent.title, agent.tags)
    wanted = (model.head, model.alive, model.records, model.marks, *reference.profiles[agent.agent])
    if shown != wanted:
        yield f"agent {agent.name} is {shown}, in the model {wanted}"
