"""The handler of ``render``: a conversation as the body of a provider's request."""

from typing import Any, NamedTuple

from reel.errors import TooLarge
from reeld.agents.agent import Agent
from reeld.agents.mail import Look
from reeld.core.commands import no_such_mark
from reeld.core.conversation import Conversation
from reeld.core.events import Entry
from reeld.core.state import State
from reeld.formats.body import Prefix, Rendered, RenderRequest
from reeld.formats.render import render as rendered
from reeld.serving.call import Call, Desk, Later, Result
from reeld.serving.handlers.queries import past_at, profile_of

# No provider takes more, and a client has to hold it.
MAX_BODY = 48 << 20


class _Snapshot(NamedTuple):
    """A conversation as it stands, at a seq: what a thread may look at while the agent goes on."""

    at: int
    entries: list[Entry]
    prompt: Entry | None
    # The mark that a budget leaves everything before, or 0.
    pin: int


def render(
    desk: Desk,
    _call: Call,
    agent: Agent,
    format: str,  # noqa: A002 - the protocol's own word
    at: int | None,
    model: str | None,
    extra: Any,
    budget: int | None,
    open: str | None,  # noqa: A002 - the protocol's own word
    pin: str | None,
    after: dict[str, Any] | None,
) -> Later:
    """Render the living conversation, or the one of an earlier seq."""
    earlier = None if after is None else Prefix(**after)

    async def later() -> Result:
        snapshot = await _snapshot(desk, agent, at, pin)
        asked = RenderRequest(
            format, model, extra, budget, "refuse" if open == "refuse" else "close", snapshot.pin, earlier
        )
        found = await _render(desk, agent, asked, snapshot, living=at is None)
        if len(found.body) > MAX_BODY:
            raise TooLarge(
                f"the body has {len(found.body)} characters, {MAX_BODY} are possible; give a budget", limit=MAX_BODY
            )
        return {**found.as_map(), "at": snapshot.at}

    return later


async def _snapshot(desk: Desk, agent: Agent, at: int | None, pin: str | None) -> _Snapshot:
    """Look at the conversation in the agent's turn, or read from the log what it was."""
    if at is not None:
        profile = await profile_of(desk, agent)
        position, past = await past_at(desk, agent, profile, at)
        return _taken(State(profile, Conversation(past.nodes)), position.at, pin)
    snapshot: _Snapshot = await desk.registry.ask(
        agent, lambda answer: Look(lambda state: _taken(state, state.profile.head, pin), answer)
    )
    return snapshot


def _taken(state: State, at: int, pin: str | None) -> _Snapshot:
    conversation = state.conversation
    mark = None if pin is None else conversation.mark_for(pin)
    if pin is not None and mark is None:
        raise no_such_mark(state, pin)
    return _Snapshot(at, list(conversation.entries), conversation.prompt, mark.seq if mark else 0)


async def _render(desk: Desk, agent: Agent, asked: RenderRequest, snapshot: _Snapshot, *, living: bool) -> Rendered:
    """Render aside; of the living conversation, what is settled is kept for the next time."""
    place = agent.row, asked.format
    kept = desk.shelf.take(place) if living else None
    found, keep = await desk.shelf.work(lambda: rendered(asked, snapshot.entries, snapshot.prompt, kept))
    if living:
        desk.shelf.put(place, keep)
    return found
