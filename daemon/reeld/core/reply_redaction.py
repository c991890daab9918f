"""What a redaction removes from the reply that is stored with a key, so that a repeated command still gets it.

Only some fields of a reply have content. All others stay, whatever the removed text is: a client needs their seqs and
ids.
"""

from collections.abc import Mapping
from typing import Any

from reeld.core.redaction import Redaction


def redacted_reply(redaction: Redaction, reply: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a reply without what is removed, in a form that every client can read.

    Args:
        redaction: what is removed.
        reply: the reply.
        names: the current names of the agents whose past is redacted, by their ids: these stay.
    """
    if redaction.is_whole:
        empty: dict[str, Any] = {"system": None, "marks": [], "open_calls": [], "orphans": [], "label": None}
        return {field: empty.get(field, value) for field, value in reply.items()}
    current = names.get(reply.get("id", reply.get("agent", "")))
    return {field: _field(redaction, field, value, current, names) for field, value in reply.items()}


def _field(redaction: Redaction, field: str, value: Any, current: str | None, names: Mapping[str, str]) -> Any:
    match field:
        case "system" | "tags":
            return redaction.value(value)
        case "title":
            return redaction.title(value)
        case "label":
            return redaction.label(value)
        case "name":
            return redaction.name(value, value if current is None else current)
        case "marks":
            return [{**mark, "label": redaction.label(mark["label"])} for mark in value]
        case "open_calls" | "orphans":
            return [_call(redaction, call) for call in value]
        case "report":
            return [{**change, "why": redaction.text(change["why"])} for change in value]
        case "results":
            return [redacted_reply(redaction, result, names) for result in value]
    return value


def _call(redaction: Redaction, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return an open call, or an orphan, which has no name, as the events have it."""
    made = {**call, "id": redaction.call_id(call["id"])}
    return {**made, "name": redaction.tool(call["name"])} if "name" in call else made
