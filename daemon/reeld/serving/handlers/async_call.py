"""Calls whose answer comes later, as a push: how Neovim calls without blocking.

``call_async(token, method, params)`` is a notification that carries a call. The outcome is pushed as
``reply {token, result}`` or ``reply {token, error}``.
"""

from collections.abc import Callable
from typing import Any

from reel.base.errors import InvalidParams, InvalidRequest
from reel.wire.frames import Id, Notification
from reeld.protocol import converters, params
from reeld.protocol.signature import Signature, declared
from reeld.serving.call import Call, Outcome, Peer, Result, Services

SIGNATURE = Signature(declared(params.CallAsync))


def call_of(peer: Peer, settle: Callable[[Call, Outcome], None], note: Notification) -> tuple[Call, Any]:
    """Return the call that a notification makes, and its parameters."""
    if note.method != call_async.__name__:
        return Call(peer, settle, None, note.method, note.size), note.params
    try:
        (call_token, method, own), _ = SIGNATURE.bind(note.params)
    except InvalidParams:
        # The handler binds the parameters again, and so answers with the error.
        return Call(peer, settle, None, note.method, note.size, _token_of(note.params)), note.params
    return Call(peer, settle, None, method, note.size, call_token), own


def _token_of(given: Any) -> Id | None:
    """Return the token of a call whose other parameters are wrong, so that its caller learns of the error."""
    if type(given) is list and given:
        given = {"token": given[0]} if type(given[0]) is not dict else given[0]
    try:
        return converters.token(given.get("token")) if type(given) is dict else None
    except InvalidParams:
        return None


def call_async(_services: Services, _call: Call, _: params.CallAsync) -> Result:
    """Refuse the request form: a request has a reply already."""
    raise InvalidRequest("call_async is a notification that carries another call; send it without an id")
