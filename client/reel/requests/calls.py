"""Requests as values: the method, its parameters, how to read the reply, and how to fetch the next page."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reel import replies
from reel.base.ids import new_id
from reel.base.light_typing import TYPE_CHECKING, Generic, NamedTuple
from reel.wire.frames import too_large

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, TypeVar

    R = TypeVar("R")
    F = TypeVar("F", bound=Callable[..., Any])


# The types of most parameters.
_PLAIN = frozenset({str, int, bool, float, list, dict})


class Call(NamedTuple, Generic["R"]):
    """A request and the function that reads its reply."""

    method: str
    params: dict[str, Any]
    read: Callable[[dict[str, Any]], R]
    # Whether it is a command, which is only safe to repeat under a key.
    writes: bool = False
    # If the reply is a page, the field that has its items.
    items: str = ""
    # The call to make instead if this one is refused with ``Exists``.
    if_exists: Call[R] | None = None
    # For a call that takes several requests: returns the generator that makes them, given a function that returns the
    # daemon's ``hello``.
    steps: Callable[[Callable[[], replies.Hello | None]], Generator[Call[Any], Any, R]] | None = None


def call(
    method: str,
    read: Callable[[dict[str, Any]], R],
    given: Mapping[str, Any] | None = None,
    *,
    writes: bool = False,
    items: str = "",
) -> Call[R]:
    """Return a call.

    Args:
        method: its name in the protocol.
        read: reads its result.
        given: the parameters, as ``locals()`` has them. Those that are ``None`` are not sent; ``from_`` is ``from``.
        writes: whether it is a command.
        items: if the reply is a page, the field that has its items.
    """
    params = {name.rstrip("_"): _plain(value) for name, value in (given or {}).items() if value is not None}
    return Call(method, params, read, writes, items)


def _plain(value: Any) -> Any:
    """Return a map or a sequence of any type as a type that MessagePack has."""
    if type(value) in _PLAIN or isinstance(value, str | bytes):
        return value
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, Collection) else value


def with_idempotency_key(call: Call[R]) -> Call[R]:
    """Return the call, with a new key if it is a command without one, so that it is safe to repeat."""
    if not call.writes or "key" in call.params:
        return call
    return call._replace(params={**call.params, "key": new_id()})


def require_size(request: bytes, server: replies.Hello | None) -> None:
    """Refuse a request that exceeds the daemon's limit before it is sent.

    Args:
        request: the encoded request.
        server: the daemon's ``hello``; ``None`` before the first connection.

    Raises:
        TooLarge: the request is longer.
    """
    limit = None if server is None else server.limits.get("message")
    if limit is not None and len(request) > limit:
        raise too_large(limit, len(request))


def next_page(call: Call[R], reply: R) -> Call[R] | None:
    """Return the call for the next page, or ``None`` after the last one.

    Later pages are read ``at`` the position of the first one, so that they are consistent while others write.
    """
    if not getattr(reply, "more", False):
        return None
    params = dict(call.params)
    if call.items in ("hits", "values"):
        return call._replace(params={**params, "after": getattr(reply, "next", None)})
    last = getattr(reply, call.items)[-1]
    if call.method == "histories":  # the agents from that of the last event on
        agents = params["agents"]
        return call._replace(params={**params, "agents": agents[agents.index(last["agent"]) :], "since": last["seq"]})
    if call.items == "agents":
        params["after"] = last.id
    else:
        params["since"] = last["seq"]
        params.pop("last", None)
        if call.method in ("messages", "replay"):
            params["at"] = getattr(reply, "at", None)
    return call._replace(params=params)


def read_pages(call: Call[R], take: Callable[[R], None]) -> Generator[Call[R], R, None]:
    """Yield a call, and one for every page after it; pass each reply to a function."""
    following: Call[R] | None = call
    while following is not None:
        reply = yield following
        take(reply)
        following = next_page(following, reply)


def in_steps(name: str, steps: Callable[[Callable[[], replies.Hello | None]], Generator[Call[Any], Any, R]]) -> Call[R]:
    """Return a call that takes several requests, each depending on the replies before it."""
    no_reply: Any = dict
    return Call(name, {}, no_reply, steps=steps)


def knows(server: Callable[[], replies.Hello | None], feature: str) -> bool:
    """Return whether a daemon has a feature, as the steps of a call are told; that is known after the first reply."""
    hello = server()
    return hello is not None and feature in hello.features


def describe(method: F, request: Callable[..., Call[Any]], returns: str = "") -> F:
    """Copy the name, docstring and signature of a request to the client method that sends it.

    Args:
        method: the function that sends the request.
        request: the function that makes the call.
        returns: the annotation of the method's result. Default: that of the reply.
    """
    method.__name__ = request.__name__
    method.__qualname__ = f"Client.{request.__name__}"
    method.__doc__ = request.__doc__
    of_reply = request.__annotations__["return"].removeprefix("Call[").removesuffix("]")
    method.__annotations__ = {**request.__annotations__, "return": returns or of_reply}
    method.__wrapped__ = _Signature(request, returns)  # type: ignore[attr-defined]  # functools sets it the same way
    return method


class _Signature:
    """The signature of a client's method, for ``help()``, ``inspect.signature()`` and ``typing.get_type_hints()``.

    It is built on demand, because its imports would add milliseconds to every command.
    """

    def __init__(self, request: Callable[..., Call[Any]], returns: str) -> None:
        self._request = request
        self._returns = returns

    @property
    def __globals__(self) -> dict[str, Any]:
        return {**self._request.__globals__, **annotation_names()}

    @property
    def __signature__(self) -> Any:
        from inspect import Parameter, signature  # noqa: PLC0415 - see above

        made = signature(self._request, globals=self.__globals__, eval_str=True)
        own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
        returns = self._returns or made.return_annotation.__args__[0]
        return made.replace(parameters=[own, *made.parameters.values()], return_annotation=returns)


def bind(bound: F, method: Callable[..., Any]) -> F:
    """Copy the name, docstring and signature of a client's method to one that knows its conversation."""
    bound.__name__ = method.__name__
    bound.__qualname__ = f"Handle.{method.__name__}"
    lines = (method.__doc__ or "").splitlines(keepends=True)
    bound.__doc__ = "".join(line for line in lines if not line.startswith(_OF_AGENT))
    bound.__wrapped__ = _BoundSignature(method)  # type: ignore[attr-defined]  # as above
    return bound


# What a docstring says of the parameter that a bound method does not have.
_OF_AGENT = "        agent: "


class _BoundSignature:
    """The signature of a client's method without the conversation, built on demand as that of the method is."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method

    @property
    def __signature__(self) -> Any:
        from inspect import signature  # noqa: PLC0415 - see above

        made = signature(self._method)
        own, _, *others = made.parameters.values()
        return made.replace(parameters=[own, *others])


def annotation_names() -> dict[str, Any]:
    """Return the names in the requests' annotations that their modules import only for type checkers."""
    import re  # noqa: PLC0415 - see above
    import typing  # noqa: PLC0415 - see above
    from collections.abc import Sequence  # noqa: PLC0415 - see above

    from reel.reading import branches, difference, usage  # noqa: PLC0415 - see above
    from reel.said import formats, messages  # noqa: PLC0415 - see above

    return {
        **{name: getattr(formats, name) for name in ("Body", "Dialect", "Format")},
        "Addables": messages.Addables,
        "Any": typing.Any,
        "Branches": branches.Branches,
        "Hunk": difference.Hunk,
        "Literal": typing.Literal,
        "NewMessage": messages.NewMessage,
        "Pattern": re.Pattern,
        "Sequence": Sequence,
        "Sum": usage.Sum,
    }


# The fields whose values, or whose items, are tuples themselves, and the names of these in ``reel.replies``.
_NESTED = {
    "source": "Source",
    "marks": "Mark",
    "open_calls": "OpenCall",
    "orphans": "Orphan",
    "known": "Known",
    "skipped": "Skipped",
    "agents": "AgentRow",
    "methods": "MethodInfo",
    "report": "Change",
    "prefix": "Prefix",
    "problems": "Problem",
    "expressions": "Expression",
    "hits": "Hit",
    "edits": "Edit",
    "backups": "ErasedBackup",
    "results": "PartResult",
    "values": "Value",
}


def reply_reader(shape: type[R]) -> Callable[[dict[str, Any]], R]:
    """Return the function that reads a result as a tuple of this type."""
    fields: tuple[str, ...] = shape._fields  # type: ignore[attr-defined]

    def read(result: dict[str, Any]) -> R:
        given = {field: result[field] for field in fields if field in result}
        for field in given.keys() & _NESTED.keys():
            value = given[field]
            if isinstance(value, list) and value:
                given[field] = list(map(_nested_reader(field), value))
            elif isinstance(value, dict):
                given[field] = _nested_reader(field)(value)
        return shape(**given)

    return read


def _nested_reader(field: str) -> Callable[[dict[str, Any]], Any]:
    return _read_value if field == "values" else reply_reader(getattr(replies, _NESTED[field]))


def _read_value(found: dict[str, Any]) -> replies.Value:
    value = value_in(found["data_json"])
    return replies.Value(found["key"], value, found["seq"], found["time"], found.get("damaged", False))


def value_in(data_json: str | None) -> Any:
    """Return the value that the record of one beside a conversation has; ``None`` if it removes the value."""
    from reel.base.strict_json import parse  # noqa: PLC0415 - most replies have no JSON

    data = parse(data_json or "{}")
    value, text = data.get("value"), data.get("value_json")
    if text is not None:
        try:
            value = parse(text)
        except ValueError:  # something was redacted
            value = text
    return value
