"""The handler of ``render``: a conversation as the body of a request to a provider."""

import time
from typing import Any, Literal, NamedTuple, cast

from reel.errors import TooLarge
from reeld.agents.agent import Agent
from reeld.agents.jobs import Read
from reeld.core.commands import no_such_mark, require_position
from reeld.core.conversation import Conversation
from reeld.core.events import Entry
from reeld.core.milestones import Milestone
from reeld.core.state import State
from reeld.formats.body import Prefix, Rendered, RenderRequest
from reeld.formats.render import render as render_body
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.handlers.queries import profile_of

# The most characters of a body. No provider accepts more, and a client has to hold it in memory.
MAX_BODY = 48 << 20
# The most changes that a reply lists. A conversation of 100,000 messages may have as many, too many for any client.
MAX_REPORT = 1000


class _Snapshot(NamedTuple):
    """A conversation at a seq, which a thread may read while the agent goes on."""

    at: int
    entries: list[Entry]
    prompt: Entry | None
    # The seq of the mark up to which a budget drops nothing, or 0.
    pin: int


def render(
    services: Services,
    _call: Call,
    agent: Agent,
    format_name: str,
    at: int | None,
    model: str | None,
    extra: Any,
    budget: int | None,
    open_calls: str | None,
    pin: str | None,
    after: dict[str, Any] | None,
    cache: str | None,
    dialect: str | None,
    tools: list[str] | None,
) -> Deferred:
    """Render the current conversation, or the one at an earlier seq."""
    earlier = None if after is None else Prefix(**after)

    async def run() -> Result:
        age = services.render_cache.age
        snapshot = await _take_snapshot(services, agent, at, pin)
        asked = RenderRequest(
            format_name,
            model,
            extra,
            budget,
            "refuse" if open_calls == "refuse" else "close",
            snapshot.pin,
            earlier,
            cast("Literal['5m', '1h'] | None", cache),
            time.time(),
            dialect,
            None if tools is None else frozenset(tools),
        )
        rendered = await _render(services, agent, asked, snapshot, None if at is not None else age)
        # Counting the characters takes a while; there are at most as many as bytes.
        if len(rendered.text) > MAX_BODY and (characters := len(rendered.body)) > MAX_BODY:
            raise TooLarge(
                f"the body has {characters} characters, more than the limit of {MAX_BODY}; give a budget",
                limit=MAX_BODY,
            )
        newest = rendered._replace(report=rendered.report[-MAX_REPORT:])
        reply: Result = {**newest.as_map(), "at": snapshot.at}
        if len(rendered.report) > MAX_REPORT:
            reply["omitted"] = len(rendered.report) - MAX_REPORT
        return reply

    return Deferred(run)


async def _take_snapshot(services: Services, agent: Agent, at: int | None, pin: str | None) -> _Snapshot:
    """Return the conversation as it is, or as the log says that it was; all of it is in memory then."""
    registry, store = services.registry, services.store
    if at is not None:
        profile = await profile_of(services, agent)
        require_position(at, profile.head, profile.name)
        position = await store.position(agent.row, at)
        return _snapshot_of(State(profile, await store.whole(position.tip)), position.at, pin)
    older: Conversation | None = None

    def look(state: State) -> _Snapshot | Milestone:
        conversation = state.conversation
        if older is not None and conversation.base is not None and conversation.base.id == older.tip:
            conversation.prepend(older)
        return _snapshot_of(state, state.profile.head, pin) if conversation.base is None else conversation.base

    while True:
        found: _Snapshot | Milestone = await registry.ask(agent, lambda answer: Read(look, answer))
        if isinstance(found, _Snapshot):
            registry.limit_memory()
            return found
        older = await store.whole(found.id)


def _snapshot_of(state: State, at: int, pin: str | None) -> _Snapshot:
    conversation = state.conversation
    mark = None if pin is None else conversation.mark_for(pin)
    if pin is not None and mark is None:
        raise no_such_mark(state, pin)
    return _Snapshot(at, list(conversation.entries), conversation.prompt, mark.seq if mark else 0)


async def _render(
    services: Services, agent: Agent, asked: RenderRequest, snapshot: _Snapshot, age: int | None
) -> Rendered:
    """Render in a thread; keep the state of rendering the current conversation for the next time.

    Args:
        services: the daemon's.
        agent: whose conversation it is.
        asked: the request.
        snapshot: the conversation.
        age: that of the cache when the current conversation was read; ``None`` for an earlier one.
    """
    key = agent.row, asked.format
    earlier = None if age is None else services.render_cache.pop(key)
    rendered, state = await services.long_work.in_thread(
        lambda: render_body(asked, snapshot.entries, snapshot.prompt, earlier)
    )
    if age is not None:
        services.render_cache.put(key, state, age)
        services.asked_models.note(key, state.model)
    return rendered
