"""Commands that remove content for good."""

from __future__ import annotations

from reel import replies
from reel.base.errors import InvalidParams
from reel.base.light_typing import TYPE_CHECKING
from reel.requests.calls import Call, call, reply_reader

if TYPE_CHECKING:
    from collections.abc import Sequence
    from re import Pattern
    from typing import Any


def redact(
    agent: str,
    seqs: list[int] | None = None,
    text: str | list[str] | None = None,
    dry_run: bool | None = None,  # noqa: FBT001 - in the protocol's order
    backups: list[str] | None = None,
    *,
    pattern: str | Pattern[str] | None = None,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Redacted]:
    """Replace content of an agent's past by a marker, for every agent that inherited it; this cannot be undone.

    It is one request, which is carried out completely or not at all. The client first finds the matches of a pattern.
    More than 1,000 texts, or texts that are too long for one request, take several requests, the longest texts first.
    If these are interrupted, some texts are redacted everywhere and the others nowhere: repeat the call.

    Args:
        agent: a name or an id.
        seqs: the events whose content is redacted.
        text: a text, or several, that are redacted wherever they occur.
        dry_run: change nothing, and return what would be changed.
        backups: the absolute paths of backups in which it is redacted, too.
        pattern: a regular expression; every text that it matches is redacted wherever it occurs. Give either this,
            ``text`` or ``seqs``.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one for each request.

    Raises:
        InvalidParams: no event with content has one of the seqs; the pattern is invalid; or nothing matches, and
            backups were named, which are not searched.
        TooLarge: a text does not fit in a request. Nothing was redacted.
    """
    given = locals()
    del given["pattern"]
    one = call("redact", _read_redacted, given, writes=True)
    return one if pattern is None and (text is None or isinstance(text, str)) else _in_steps(one, pattern)


def _in_steps(one: Call[replies.Redacted], pattern: str | Pattern[str] | None) -> Call[replies.Redacted]:
    from reel.requests import redaction  # noqa: PLC0415 - most clients redact nothing

    given = one.params
    if pattern is None and len(given["text"]) <= redaction.MAX_TEXTS:
        return one
    if sum((pattern is not None, "text" in given, "seqs" in given)) != 1:
        raise InvalidParams("pattern, text and seqs: give one of them", field="pattern")
    if "key" in given:
        raise InvalidParams("key: this may take several requests; it is safe to repeat it without a key", field="key")

    def request(agent: str, texts: list[str], if_seq: int | None) -> Call[replies.Redacted]:
        params = {**given, "agent": agent, "text": texts, "if_seq": if_seq}
        return one._replace(params={name: value for name, value in params.items() if value is not None})

    agent, if_seq, backups = given["agent"], given.get("if_seq"), given.get("backups")
    if pattern is not None:
        steps = redaction.redact_matches(agent, redaction.compiled(pattern), request, if_seq, backups)
    else:
        steps = redaction.redact_texts(agent, given["text"], request, if_seq)
    return one._replace(steps=steps)


def _read_redacted(result: dict[str, Any]) -> replies.Redacted:
    read = reply_reader(replies.Redacted)(result)
    return read._replace(events=[reply_reader(replies.Place)(place) for place in result["events"]])


def prune(  # noqa: PLR0913 - the parameters of the protocol
    agent: str,
    before: int | None = None,
    until: int | None = None,
    dry_run: bool | None = None,  # noqa: FBT001 - in the protocol's order
    keep: Sequence[int] | None = None,
    records: Sequence[tuple[int, str]] | None = None,
    gone: Sequence[tuple[int, int]] | None = None,
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Pruned]:
    """Remove what was said in an agent's log before a point, and nothing can reach any more; this cannot be undone.

    All positions from the point on stay as they are, and so does what any mark, a redo or another agent leads to. A
    daemon knows this if its ``features`` name ``prune``.

    Args:
        agent: a name or an id.
        before: the seq. Give either this or ``until``.
        until: milliseconds since the epoch; all positions from then on stay.
        dry_run: change nothing, and return what would be removed.
        keep: seqs at which the conversation stays as it is, for a program that goes back there; 65,536 at most.
        records: what is left of the ``command`` records of a program, as pairs of a seq and JSON; 65,536 at most. Then
            no record goes only because pruned messages name it as a copy.
        gone: the first and the last seq of positions at which these records are gone, 65,536 pairs at most: the agent
            cannot go back there. A daemon knows this if its ``features`` name ``gone``.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.

    Raises:
        InvalidParams: the agent's own log does not have one of the records, or more of it would be left than it has.
    """
    return call("prune", reply_reader(replies.Pruned), locals(), writes=True)


def purge(
    agent: str,
    cascade: bool | None = None,  # noqa: FBT001 - in the protocol's order
    force: bool | None = None,  # noqa: FBT001 - in the protocol's order
    dry_run: bool | None = None,  # noqa: FBT001 - in the protocol's order
    backups: list[str] | None = None,
    also: list[str] | None = None,
    *,
    if_seq: int | None = None,
    key: str | None = None,
) -> Call[replies.Purged]:
    """Remove an agent and every event that no other agent's past needs; this cannot be undone.

    Args:
        agent: a name or an id.
        cascade: also remove its killed clones, recursively.
        force: remove all its clones, recursively.
        dry_run: change nothing, and return what would be removed.
        backups: the absolute paths of backups from which it is removed, too.
        also: the names or ids of more agents, which are removed in the same command; all or none.
        if_seq: only if the agent's head is still this seq.
        key: makes the command safe to repeat. Default: the client makes one.
    """
    return call("purge", reply_reader(replies.Purged), locals(), writes=True)


def retention(
    dry_run: bool | None = None,  # noqa: FBT001 - in the protocol's order
    now: bool | None = None,  # noqa: FBT001 - in the protocol's order
) -> Call[replies.Retained]:
    """Purge the agents that are older than the daemon's settings allow; this cannot be undone.

    Args:
        dry_run: change nothing, and return what would be removed.
        now: do not wait for a day after the settings were made or reach further.
    """
    return call("retention", _read_retained, locals())


def purged(ids: Sequence[str]) -> Call[list[str]]:
    """Return which of the agents with these ids were purged, by a command or by the daemon's retention.

    Args:
        ids: the ids, 10,000 at most. A daemon knows this if its ``features`` name ``purged``.
    """
    return call("purged", _read_ids, locals())


def _read_ids(result: dict[str, Any]) -> list[str]:
    found: list[str] = result["purged"]
    return found


def _read_retained(result: dict[str, Any]) -> replies.Retained:
    # An older daemon lists all, and does not count them.
    counts = {"agents_count": len(result["agents"]), "purged_count": len(result["purged"])}
    read = reply_reader(replies.Retained)({**counts, **result, "agents": []})
    return read._replace(agents=[reply_reader(replies.OldAgent)(agent) for agent in result["agents"]])
