"""The log as people read it: one line per event."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from reel.cli.output import Line
from reel.media import media_in_short
from reel.messages import Event
from reel.reading.tokens import tokens_in
from reel.reading.wording import cut, flat

# How much of an event's content is shown if there is no terminal to set the limit.
_GIST = 200
_KIND = 12
_STYLES = {"system": "system", "user": "user", "assistant": "assistant", "tool_call": "call", "tool_result": "result"}


class EventLines:
    """Lays out events.

    Args:
        width: how many columns there are; ``None`` if there is no terminal.
        clock: formats a time.
        name_of: returns the name of the agent with an id.
    """

    def __init__(self, width: int | None, clock: Callable[[int], str], name_of: Callable[[str], str]) -> None:
        self._width = width
        self._clock = clock
        self._name_of = name_of

    def layout(self, event: Event, margin: int = 0) -> Line:
        """Lay out an event: seq, time, kind and the beginning of its content; a margin is left free."""
        kind, seq = event["kind"], f"#{event['seq']}"
        head = f"{seq:>6}  {self._clock(event.get('sent', event['time']))}  "
        taken = margin + len(head) + max(_KIND, len(kind)) + 2
        room = _GIST if self._width is None else max(self._width - taken, 1)
        return [(head, "dim"), (f"{kind:<{_KIND}}", _STYLES.get(kind, "bold")), "  ", cut(self.gist(event), room)]

    def gist(self, event: Event) -> str:
        """Return an event's content in a few words, and whether the event is damaged."""
        return f"(damaged) {self._content(event)}" if event.get("damaged") else self._content(event)

    def _content(self, event: Event) -> str:
        if event["kind"] == "state":
            return flat(_value(event["content"] or "", event["data_json"]))
        if event["content"]:
            return flat(event["content"])
        return flat(self._from_data(event["kind"], event["data_json"])) if event["data_json"] is not None else ""

    def _from_data(self, kind: str, text: str) -> str:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if not isinstance(data, dict):
            return text
        if isinstance(data.get("output"), str):
            return str(data["output"])
        if isinstance(blocks := data.get("blocks"), list):
            return "  ".join(media_in_short(block) for block in blocks if _is_media(block))
        return ", ".join(self._phrases(kind, {name: value for name, value in data.items() if value not in (None, {})}))

    def _phrases(self, kind: str, data: dict[str, Any]) -> Iterator[str]:
        """Yield what people read of the data; what is not known here is shown as it is."""
        if kind == "usage" and (tokens := tokens_in(data)):
            yield str(tokens)
            del data["usage"]
        yield from _place(kind, data)
        if kind == "clone" and isinstance(source := data.pop("from", None), str):
            yield f"from {self._name_of(source)} at #{data.pop('at', '?')}"
        if kind == "lost":
            yield f"#{data.pop('from', '?')} to #{data.pop('to', '?')} by the database server"
        if kind == "agent_killed":
            cascade, by = data.pop("cascade", False), data.pop("by", None)
            if isinstance(by, str):
                yield f"{'with' if cascade else 'by'} {self._name_of(by)}"
            elif cascade:
                yield "with its clones"
        for name, value in data.items():
            yield _known(kind, name, value) or f"{name} {_word(value)}"


def _is_media(block: Any) -> bool:
    # What is stored may be damaged.
    return isinstance(block, dict) and block.get("type") == "media" and isinstance(block.get("mime_type"), str)


def _value(key: str, text: str | None) -> str:
    """Return the key of a value, and what it was set to."""
    if text is None:
        return f"{key} removed"
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return f"{key} = {text}"
    value = next(iter(data.values()), None) if isinstance(data, dict) else data
    return f"{key} = {_word(value)}"


def _place(kind: str, data: dict[str, Any]) -> Iterator[str]:
    """Take out and yield where a rewind or a restore went."""
    if kind == "rewind" and "target" in data:
        label, target = data.pop("label", None), data.pop("target")
        yield f"to #{target}" if label is None else f"to {label} (#{target})"
    if kind == "rewind" and "before" in data:
        yield f"to before #{data.pop('before')}"
    if kind == "restore" and "to" in data:
        yield f"to #{data.pop('to')}"
        yield from (f"{why} #{data.pop(why)}" for why in ("undoes", "redoes") if why in data)
        data.pop("undo", None)  # of a redo: the undo is the one of the command that it redoes


def _known(kind: str, name: str, value: Any) -> str:
    if kind == "mark" and name == "label":
        return _word(value)
    if name == "tags" and isinstance(value, dict):
        return "tags " + " ".join(f"{tag}={_word(of)}" for tag, of in value.items())
    if kind == "usage" and name in ("provider", "model"):
        return _word(value)
    return ""


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
