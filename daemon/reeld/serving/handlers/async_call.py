"""Calls whose answer comes later, as a push: how Neovim asks without waiting.

``call_async(token, method, params)`` is a notification that stands for a call. What comes of that is pushed as
``reply {token, result}`` or ``reply {token, error}``.
"""

from typing import Any

from reel.errors import InvalidParams, InvalidRequest
from reel.frames import Id, Notification
from reel.values import MAX_INTEGER
from reeld.serving import params
from reeld.serving.call import Call, Desk, Peer, Result
from reeld.serving.params import Param, Signature

_integer = params.integer(-MAX_INTEGER, MAX_INTEGER)


def token(value: Any) -> Id:
    """Take what a later answer is known by: an integer, or a string."""
    known_by: Id = _integer(value) if type(value) is int else params.label(value)
    return known_by


SIGNATURE = Signature(
    (
        Param("token", token, optional=False),
        Param("method", params.string, optional=False),
        Param("params", params.anything),
    )
)


def call_of(peer: Peer, note: Notification) -> tuple[Call, Any]:
    """Make the call that a notification stands for, and give its parameters."""
    if note.method != call_async.__name__:
        return Call(peer, None, note.method, note.size), note.params
    try:
        (known_by, method, own), _ = SIGNATURE.bind(note.params)
    except InvalidParams:
        # The handler is asked, and refuses it.
        return Call(peer, None, note.method, note.size, _token_of(note.params)), note.params
    return Call(peer, None, method, note.size, known_by), own


def _token_of(given: Any) -> Id | None:
    """Find the token of a call that is wrong otherwise, so that its caller hears of it."""
    if type(given) is list and given:
        given = {"token": given[0]} if type(given[0]) is not dict else given[0]
    try:
        return token(given.get("token")) if type(given) is dict else None
    except InvalidParams:
        return None


def call_async(_desk: Desk, _call: Call, _token: Id, _method: str, _params: Any) -> Result:
    """Refuse to be called: a request has its answer anyway, and one inside another has no need of two."""
    raise InvalidRequest("call_async is a notification that stands for another call; send it without an id")
