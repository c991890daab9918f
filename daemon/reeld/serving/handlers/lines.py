"""The handler of a subscription to lines."""

from functools import partial

from reel.base.errors import InvalidParams, TooLarge
from reeld.agents.agent import Agent
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Result, Services
from reeld.serving.handlers.people import waits_for
from reeld.serving.handlers.views import view
from reeld.serving.line_view import MOST_MESSAGES, LineView
from reeld.serving.pages import View


def subscribe_lines(services: Services, call: Call, agent: Agent | None, asked: params.Subscribe) -> Deferred:
    """Push the conversation of an agent as lines, and then each change of it; one at a seq is only erased in."""
    if agent is None:
        raise InvalidParams("view: lines are those of one conversation; give its agent", field="view")
    for field in ("since", "kinds", "time"):
        if getattr(asked, field) is not None:
            raise InvalidParams(f"{field}: lines begin with an empty buffer; leave out {field}, or view", field=field)

    async def begin() -> Result:
        shown = await view(services, agent, asked.at)
        whose, number = shown.profile, shown.messages
        if number > MOST_MESSAGES:
            raise TooLarge(
                f"view: the conversation has {number} messages, lines are pushed of {MOST_MESSAGES} at most;"
                " read it with messages",
                field="view",
                limit=MOST_MESSAGES,
            )

        async def look() -> View:
            return await view(services, await services.registry.find(whose.uid), asked.at)

        async def waits() -> str:
            return await waits_for(services, await services.registry.find(whose.uid))

        kind = partial(LineView, is_past=asked.at is not None)
        made = call.peer.subscriptions.make(kind, whose, look, waits, services.long_work)

        def begin_pushing() -> None:
            call.peer.subscriptions.begin(made, whose.head, live=False)
            if asked.at is None:
                services.drafts.show_to(made, whose.row)

        call.then = begin_pushing
        return {"sub": made.number, "head": whose.head, "agent": whose.uid}

    return Deferred(begin)
