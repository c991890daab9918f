"""Is a history linearizable? Each agent is a small sequential machine, and its log says in which order it went.

That leaves little to search: the log names the order of the commands, the replies name their places in it, and so
does every answer to a reader. What is checked:

* Each command of the log is of exactly one call, each acknowledged call has its command, no refused one has.
* Done anew by the model, in that order, each command is possible and gives the reply that was given.
* Whoever read, or was refused, saw the agent as it stood between two commands.
* Order keeps to real time: what was answered before something else was sent stands before it.
* In the end each agent is what the model is.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.crash.claims import Claims, claim
from tests.crash.history import Call, Command, Event, Living, commands, said
from tests.crash.world import World, refuses
from tests.model import Refused, Said


class Span(NamedTuple):
    """When something was under way, and where it stands: at a head; what reads it comes after what wrote it."""

    head: int
    reads: bool
    sent: float
    answered: float


def check(calls: Sequence[Call], events: Sequence[Event], living: Sequence[Living]) -> list[str]:
    """Give what is wrong with a history; nothing where it is right.

    Args:
        calls: all that was asked, in the order in which each session sent it.
        events: the logs of all agents.
        living: the agents as they are after all.
    """
    log, names = commands(events), {agent.name: agent.agent for agent in living}
    claims = claim(calls, log, names)
    world, spans = World(), defaultdict[str, list[Span]](list)
    problems = [*claims.problems, *_out_of_sequence(events)]
    for command in log:
        problems += _redone(world, claims, command)
        spans[command.agent].append(_span(command, claims))
    for call in calls:
        if (agent := names.get(call.judge)) in world.positions and agent is not None:
            problems += _refused(world, spans[agent], call, agent)
            problems += _read(world, call, agent)
            if call.method == "messages" and call.reply is not None:
                spans[agent].append(Span(call.reply["head"], True, call.sent, call.answered))
    for of_one in spans.values():
        problems += _against_time(of_one)
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
    attempts = claims.attempts.get((command.agent, command.seq))
    if attempts is None:
        return  # which has been said
    try:
        expected = world.do(attempts[0], command)
    except (Refused, KeyError) as error:
        yield f"not possible ({error!r}): {command} of {attempts[0]}"
        return
    if expected["head"] != command.head:
        yield f"{command} ends at {command.head}, in the model at {expected['head']}"
    for call in attempts:
        reply = call.reply or {}
        if call.acknowledged and expected != {name: reply.get(name) for name in expected}:
            yield f"{call} was answered {dict(reply)}, expected {expected}"


def _span(command: Command, claims: Claims) -> Span:
    """Give the time from a command's first attempt to its first answer."""
    attempts = claims.attempts.get((command.agent, command.seq), [])
    sent = min((call.sent for call in attempts), default=-math.inf)
    answered = min((call.answered for call in attempts if call.acknowledged), default=math.inf)
    return Span(command.head, False, sent, answered)


def _refused(world: World, spans: Sequence[Span], call: Call, agent: str) -> Iterator[str]:
    """Look for a position in which there was a reason to refuse, or nothing to do."""
    nothing_to_do = call.method in {"kill", "revive"} and call.reply is not None and not call.acknowledged
    if call.unknown or not (call.error or nothing_to_do):
        return
    writes = [span for span in spans if not span.reads]
    first = max((place for place, span in enumerate(writes) if span.answered < call.sent), default=-1)
    last = min((place for place, span in enumerate(writes) if span.sent > call.answered), default=len(writes)) - 1
    if first >= 0 and not any(refuses(position, call) for position in world.positions[agent][first : last + 1]):
        yield f"no reason for {call.error or 'doing nothing'}: {call}"


def _read(world: World, call: Call, agent: str) -> Iterator[str]:
    """Compare what was read with the agent as it stood at that head."""
    if call.method == "messages" and call.reply is not None:
        head, records = call.reply["head"], said(call.reply["conversation"])
        states = [position.now for position in world.positions[agent] if position.head == head]
        if records not in [tuple(node for node in now if isinstance(node, Said)) for now in states]:
            yield f"{call} read at {head} what never was: {records}"


def _against_time(spans: Sequence[Span]) -> Iterator[str]:
    """Look for what was answered before something that stands before it was sent."""
    earliest = Span(0, False, math.inf, math.inf)
    for span in sorted(spans, reverse=True):
        if earliest.answered < span.sent:
            yield f"against time: {span} was sent after {earliest} had been answered"
        earliest = min(earliest, span, key=lambda each: each.answered)


def _differs(world: World, agent: Living) -> Iterator[str]:
    model = world.agents.get(agent.agent)
    if model is None:
        yield f"agent {agent.name} has no log"
        return
    shown = (agent.head, agent.alive, list(agent.records), list(agent.marks))
    wanted = (model.head, model.alive, model.records, model.marks)
    if shown != wanted:
        yield f"agent {agent.name} is {shown}, in the model {wanted}"
