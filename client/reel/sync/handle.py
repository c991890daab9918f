"""One conversation of a blocking client: its methods, without the name in each call."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import bind
from reel.sync.methods import Methods

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec, TypeVar

    R = TypeVar("R")
    P = ParamSpec("P")


def _bound(method: Callable[Concatenate[Methods, str, P], R]) -> Callable[Concatenate[Handle, P], R]:
    """Return a method of the client about the conversation of the handle."""

    def bound(self: Handle, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(self.client, self.name, *args, **kwargs)

    return bind(bound, method)


class Handle:
    """One conversation: ``deck = client.handle("deck")``, then ``deck.add("Hi.")``. It need not exist yet.

    Args:
        client: who sends the requests.
        name: a name or an id.
    """

    def __init__(self, client: Methods, name: str) -> None:
        self.client = client
        self.name = name

    def __repr__(self) -> str:
        return f"<reel.Handle of {self.name}>"

    create = _bound(Methods.create)
    agent = _bound(Methods.agent)
    add = _bound(Methods.add)
    add_items = _bound(Methods.add_items)
    append = _bound(Methods.append)
    answer = _bound(Methods.answer)
    render = _bound(Methods.render)
    ingest = _bound(Methods.ingest)
    load = _bound(Methods.load)
    draft = _bound(Methods.draft)
    messages = _bound(Methods.messages)
    items = _bound(Methods.items)
    conversation = _bound(Methods.conversation)
    history = _bound(Methods.history)
    iter_messages = _bound(Methods.iter_messages)
    iter_items = _bound(Methods.iter_items)
    iter_conversation = _bound(Methods.iter_conversation)
    iter_history = _bound(Methods.iter_history)
    open_calls = _bound(Methods.open_calls)
    tree = _bound(Methods.tree)
    usage = _bound(Methods.usage)
    state = _bound(Methods.state)
    replay = _bound(Methods.replay)
    wait = _bound(Methods.wait)
    undo = _bound(Methods.undo)
    undo_turn = _bound(Methods.undo_turn)
    redo = _bound(Methods.redo)
    mark = _bound(Methods.mark)
    rewind = _bound(Methods.rewind)
    restore = _bound(Methods.restore)
    clear = _bound(Methods.clear)
    clone = _bound(Methods.clone)
    change = _bound(Methods.change)
    kill = _bound(Methods.kill)
    revive = _bound(Methods.revive)
    redact = _bound(Methods.redact)
    prune = _bound(Methods.prune)
    purge = _bound(Methods.purge)
    verify = _bound(Methods.verify)
