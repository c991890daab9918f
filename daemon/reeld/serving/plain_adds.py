"""Requests that add one plain text: nearly all do, and they skip what the others need.

What is read here is read in the same way by the signature of ``add`` and by its handler, at three times the cost; a
request of any other form, valid or not, is left to them.
"""

from typing import Any, NamedTuple

from reel.errors import InvalidParams
from reel.values import is_clean
from reeld.core.validation import plain_text
from reeld.serving.params import label

# The fewest fields of a request, and those that it may have beside them.
_LEAST = 2
# Creates a named tuple in half the time that calling its class takes.
_new = tuple.__new__


class PlainAdd(NamedTuple):
    """The parameters of an ``add`` of one plain text.

    Args:
        address: of the agent.
        kind: of the row.
        content: the text.
        messages: the parameter that it came in.
        create: the parameter of this name.
        key: the idempotency key.
    """

    address: str
    kind: str
    content: str
    messages: Any
    create: bool | None
    key: str | None


def plain_add(params: Any) -> PlainAdd | None:
    """Return the parameters of an ``add`` if it is one of a plain text for an agent; ``None`` if it is another."""
    key = None
    if type(params) is dict:
        address, messages = params.get("agent"), params.get("messages")
        create = params.get("create")
        more = len(params) - _LEAST
        if more:
            key = params.get("key")
            if more != ("create" in params) + ("key" in params) or not (key is None or _is_key(key)):
                return None
    elif type(params) is list and _LEAST <= len(params) <= _LEAST + 1:
        address, messages, create = params if len(params) > _LEAST else (*params, None)
    else:
        return None
    if type(address) is not str or (create is not None and type(create) is not bool):
        return None
    text = messages[0] if type(messages) is list and len(messages) == 1 else messages
    if type(text) is str:
        return _new(PlainAdd, (address, "user", text, messages, create, key)) if is_clean(text) else None
    if text is messages or type(text) is not dict or (found := plain_text(text)) is None:
        return None
    kind, content, _, _ = found.row
    return _new(PlainAdd, (address, kind, content, messages, create, key))


def _is_key(value: Any) -> bool:
    try:
        label(value)
    except InvalidParams:
        return False
    return True
