"""An answer that was refused because what it answers is gone: kept in the log, as a note that can be placed later.

The note has what ``ingest`` needs. So nothing that was paid for is lost, wherever it was asked for, and whoever reads
the log finds it there.
"""

from collections.abc import Mapping
from typing import Any

from reel import replies, requests
from reel.base.errors import InvalidParams
from reel.base.strict_json import encode, parse
from reel.requests import Call
from reel.said.messages import NewRecord

_KEPT = "kept_answer"
_WHAT = "an answer to what is not in the conversation any more; reel ingest --kept places it"
_PARAMS = ("format", "body", "model", "names", "interrupted", "prefix")


def note(ingest: Call[replies.Added]) -> Call[replies.Added]:
    """Return the request that keeps what another one would have added."""
    given = {name: ingest.params[name] for name in _PARAMS if ingest.params.get(name) is not None}
    record: NewRecord = {"kind": "note", "content": _WHAT, "data_json": encode({_KEPT: given})}
    return requests.add(ingest.params["agent"], record)


def is_kept(event: Mapping[str, Any]) -> bool:
    """Return whether an event of a log keeps an answer."""
    return event.get("kind") == "note" and _params_of(event) is not None


def place(agent: str, event: Mapping[str, Any]) -> Call[replies.Added]:
    """Return the request that adds a kept answer at the end of its conversation; the second time, nothing is added.

    Raises:
        InvalidParams: the event keeps no answer.
    """
    seq, given = event["seq"], _params_of(event)
    if given is None:
        raise InvalidParams(f"#{seq} of {agent} keeps no answer")
    return requests.ingest(agent, **given, key=f"kept-{agent}-{seq}")


def _params_of(event: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        kept = parse(event.get("data_json") or "{}").get(_KEPT)
    except (ValueError, AttributeError):
        return None
    return kept if isinstance(kept, dict) and {"format", "body"} <= kept.keys() <= set(_PARAMS) else None
