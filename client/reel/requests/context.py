"""How full the context of a model is with a conversation, which takes two requests."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, in_steps, knows
from reel.requests.daemon import ping
from reel.requests.queries import history, messages

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from typing import Any

    from reel.reading.fullness import Fullness
    from reel.replies import Hello


def context(agent: str, own: Mapping[str, int], model: str | None = None) -> Call[Fullness]:
    """Read how many tokens a conversation takes of a model's context.

    Args:
        agent: a name or an id.
        own: the sizes of contexts that count before those of the table, by the model.
        model: who is asked next. Default: who answered last.

    Raises:
        NotFound: there is no such agent.
    """

    def steps(server: Callable[[], Hello | None]) -> Generator[Call[Any], Any, Fullness]:
        from reel.reading import fullness as reading  # noqa: PLC0415 - most clients ask for none

        if server() is None:
            yield ping()
        tokens = knows(server, "tokens") or None
        counts = yield history(agent, kinds=["usage"], last=reading.COUNTS, live=True, inherited=True, tokens=tokens)
        counted = reading.counted_in(counts.events)
        if counted.command:
            first = yield history(agent, counted.command - 1, 1, inherited=True)
            counted = counted.unless_again(first.events)
        page = yield messages(agent, since=counted.seq, last=reading.MOST)
        return reading.fullness(counted, page.messages, page.system, own, model, is_least=page.more)

    return in_steps("context", steps)
