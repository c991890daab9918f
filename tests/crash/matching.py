"""Choose the call behind each command: no two commands have one, and each connection keeps its order on each agent."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.crash.history import Call, Command

# Calls that are tried until a history counts as wrong; one that is right needs little more than one for each command.
STEPS = 200_000


class Option(NamedTuple):
    """A call that may have written a command.

    Args:
        group: the number of the attempts of one command, of which only one was executed.
    """

    call: Call
    group: int


def match(commands: Sequence[Command], options: Sequence[Sequence[Option]]) -> list[Option]:
    """Choose one of the options of each command; fewer, if the first one that is left over has none in any choice.

    This is a search, because the first call that fits may be the only one that fits a later command: two calls may name
    an agent differently, and a key may have been sent on two connections.

    Args:
        commands: in the order of the log.
        options: of each command.
    """
    previous = list(_previous(commands))
    chosen: list[Option] = []
    best: list[Option] = []
    used: set[int] = set()
    untried = [iter(options[0])] if options else []
    for _ in range(STEPS):
        if not untried or len(chosen) == len(commands):
            break
        after = max((chosen[each].call.number for each in previous[len(chosen)]), default=-1)
        fitting = (option for option in untried[-1] if option.call.number > after and option.group not in used)
        if option := next(fitting, None):
            chosen.append(option)
            used.add(option.group)
            untried.append(iter(options[len(chosen)] if len(chosen) < len(commands) else ()))
        else:
            if len(chosen) > len(best):
                best = list(chosen)
            untried.pop()
            if chosen:
                used.remove(chosen.pop().group)
    return max(chosen, best, key=len)


def _previous(commands: Sequence[Command]) -> Iterator[set[int]]:
    """Yield, for each command, the places of those of its connection that were the last on one of its agents."""
    last: dict[tuple[str | None, str], int] = {}
    for place, command in enumerate(commands):
        session = command.events[0].client
        on = [(session, agent) for agent in command.heads]
        yield {last[each] for each in on if each in last}
        last.update(dict.fromkeys(on, place))
