"""How full the context of a model is with a conversation, which takes two requests."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, in_steps
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

    def steps(_: Callable[[], Hello | None]) -> Generator[Call[Any], Any, Fullness]:
        from reel.reading.fullness import COUNTS, MOST, counted_in, fullness  # noqa: PLC0415 - most clients ask for none

        counts = yield history(agent, kinds=["usage"], last=COUNTS, live=True, inherited=True)
        counted = counted_in(counts.events)
        page = yield messages(agent, since=counted.seq, last=MOST)
        return fullness(counted, page.messages, page.system, own, model, is_least=page.more)

    return in_steps("context", steps)
