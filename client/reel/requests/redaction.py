"""Redactions that take several requests: the client searches for a pattern and divides many texts among requests.

The daemon accepts no patterns, so that a pathological expression blocks only its own client.
"""

from __future__ import annotations

import re

from reel import replies
from reel.base.errors import InvalidParams, TooLarge
from reel.base.light_typing import TYPE_CHECKING
from reel.base.strict_json import parse
from reel.requests.calls import Call, next_page
from reel.requests.queries import agent as agent_info
from reel.requests.queries import conversation, history, replay
from reel.wire.frames import MAX_MESSAGE
from reel.wire.msgpack_codec import packer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from typing import Any, TypeAlias

    from reel.replies import Hello, Redacted

    # Makes the request that redacts some texts of an agent, if its head is still a seq.
    Request: TypeAlias = Callable[[str, list[str], int | None], Call[Redacted]]
    # The requests that are needed, one after the other; each gets its reply.
    Steps: TypeAlias = Generator[Call[Any], Any, Redacted]

# The texts of one request.
MAX_TEXTS = 1000
# The events that a reply lists.
_LISTED = 1000
# The overhead of a request, and of a text, in bytes.
_AROUND, _AROUND_TEXT = 64, 5


def compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """Return a compiled pattern.

    Raises:
        InvalidParams: it is invalid.
    """
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidParams(f"pattern: {pattern!r} is not a regular expression: {error}", field="pattern") from None


def redact_matches(
    agent: str, pattern: re.Pattern[str], request: Request, if_seq: int | None, backups: list[str] | None
) -> Callable[[Callable[[], Hello | None]], Steps]:
    """Return the steps that redact all texts in the past of an agent that match.

    Args:
        agent: a name or an id.
        pattern: the expression.
        request: creates a request.
        if_seq: only if the agent's head is still this seq.
        backups: the backups that were named.
    """

    def steps(server: Callable[[], Hello | None]) -> Steps:
        info: replies.AgentInfo = yield agent_info(agent)
        found: dict[str, None] = {}
        for value in (info.title, info.tags):
            _look(pattern, value, found)
        yield from _search(info.id, pattern, found)
        if not found and backups:
            raise InvalidParams(
                f"pattern: nothing in the past of {info.name} matches {pattern.pattern!r}, and backups are not searched"
                " for a pattern; name the text",
                field="pattern",
            )
        return (yield from _in_parts(info, found, request, if_seq, server))

    return steps


def redact_texts(
    agent: str, texts: Iterable[str], request: Request, if_seq: int | None
) -> Callable[[Callable[[], Hello | None]], Steps]:
    """Return the steps that redact more texts than fit in one request; see :func:`redact_matches`."""

    def steps(server: Callable[[], Hello | None]) -> Steps:
        info: replies.AgentInfo = yield agent_info(agent)
        return (yield from _in_parts(info, texts, request, if_seq, server))

    return steps


def _search(agent: str, pattern: re.Pattern[str], found: dict[str, None]) -> Generator[Call[Any], Any, None]:
    """Search the whole past of an agent. The content that ``clone`` copied into it is in none of its own logs."""
    call: Call[Any] | None = history(agent, inherited=True)
    owners: set[str] = set()
    takeovers: list[int] = []
    while call is not None:
        page = yield call
        for event in page.events:
            _look_at(pattern, event, found)
            if event["kind"] == "clone" and event["agent"] in owners:  # else it is how that agent began
                takeovers.append(event["seq"])
            owners.add(event["agent"])
        call = next_page(call, page)
    for seq in takeovers:
        state = yield replay(agent, at=seq, limit=1)
        _look(pattern, [mark.label for mark in state.marks], found)
        call = conversation(agent, at=seq)
        while call is not None:
            page = yield call
            for record in page.conversation:
                _look_at(pattern, record, found)
            call = next_page(call, page)


def _look_at(pattern: re.Pattern[str], event: Any, found: dict[str, None]) -> None:
    for field in ("content", "data_json", "ref"):
        _look(pattern, event.get(field), found)


def _look(pattern: re.Pattern[str], value: Any, found: dict[str, None]) -> None:
    for text in _texts(value):
        found |= dict.fromkeys(match[0] for match in pattern.finditer(text) if match[0])


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a value, including those inside texts that are JSON."""
    if isinstance(value, str):
        data = None
        if value[:1] in ("{", "["):
            try:
                data = parse(value)
            except (ValueError, RecursionError):
                yield value
        if data is None:
            yield value
        else:
            yield from _texts(data)
    elif isinstance(value, dict):
        for key, inside in value.items():
            yield key
            yield from _texts(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from _texts(inside)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _in_parts(
    info: replies.AgentInfo,
    texts: Iterable[str],
    request: Request,
    if_seq: int | None,
    server: Callable[[], Hello | None],
) -> Steps:
    greeted = server()
    limit = MAX_MESSAGE if greeted is None else greeted.limits.get("message", MAX_MESSAGE)
    room = limit - len(packer()(request(info.id, [], info.head).params)) - _AROUND
    done: list[Redacted] = []
    for part in _parts(texts, room):
        reply: Redacted = yield request(info.id, part, if_seq)
        done.append(reply)
        if_seq = if_seq and reply.head
    return _joined(done, info)._replace(texts=list(texts))


def _parts(texts: Iterable[str], room: int) -> list[list[str]]:
    """Divide texts, the longest first: a part must not leave the end of a text that a later one is about.

    Raises:
        TooLarge: a text does not fit in a request.
    """
    parts: list[list[str]] = []
    left = 0
    for text in sorted(texts, key=len, reverse=True):
        size = len(text.encode(errors="surrogatepass"))
        if size + _AROUND_TEXT > room:
            raise TooLarge(
                f"a text of {size} bytes does not fit in a request, which may have {room}; nothing was redacted:"
                " redact the event by its seq",
                limit=room,
            )
        if not parts or len(parts[-1]) == MAX_TEXTS or size + _AROUND_TEXT > left:
            parts.append([])
            left = room
        parts[-1].append(text)
        left -= size + _AROUND_TEXT
    return parts


def _joined(done: list[Redacted], info: replies.AgentInfo) -> Redacted:
    """Return one reply for all requests; each listed event is counted once."""
    if not done:
        return replies.Redacted(info.id, info.head, 0, [], [])
    places = list(dict.fromkeys(place for reply in done for place in reply.events))
    in_all = sum(reply.redacted for reply in done)
    backups: dict[str, int] = {}
    for backup in (backup for reply in done for backup in reply.backups):
        backups[backup.path] = backups.get(backup.path, 0) + backup.events
    return done[-1]._replace(
        redacted=len(places) if in_all == sum(len(reply.events) for reply in done) else in_all,
        events=places[:_LISTED],
        affected=list(dict.fromkeys(uid for reply in done for uid in reply.affected)),
        backups=[replies.ErasedBackup(*each) for each in backups.items()],
    )
