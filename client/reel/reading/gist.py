"""What an event says, in a few words."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from reel.reading.lazy_json import parsed
from reel.reading.questions import decision_in, question_in
from reel.reading.tokens import tokens_in
from reel.reading.wording import flat
from reel.said.media import media_in_short
from reel.said.messages import Event

# The keys under which the blocks of providers and frameworks say of what kind they are.
_KINDS = ("type", "kind")


def gist(event: Event, name_of: Callable[[str], str] = str) -> str:
    """Return an event's content in a few words, and whether the event is damaged.

    Args:
        event: the event.
        name_of: returns the name of the agent with an id.
    """
    return f"(damaged) {_content(event, name_of)}" if event.get("damaged") else _content(event, name_of)


def _content(event: Event, name_of: Callable[[str], str]) -> str:
    if event["kind"] == "state":
        return flat(_value(event["content"] or "", event["data_json"]))
    if event["content"]:
        return flat(event["content"])
    text = event["data_json"]
    return "" if text is None else flat(_from_data(event["kind"], text, name_of))


def _from_data(kind: str, text: str, name_of: Callable[[str], str]) -> str:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(data, dict):
        return text
    if isinstance(data.get("output"), str):
        return str(data["output"])
    if isinstance(blocks := data.get("blocks"), list):
        return "  ".join([*_shown_of(blocks)] or _named(blocks))
    given = {name: value for name, value in data.items() if value not in (None, {})}
    return ", ".join(_phrases(kind, given, name_of))


def _phrases(kind: str, data: dict[str, Any], name_of: Callable[[str], str]) -> Iterator[str]:
    """Yield what people read of the data; what is not known here is shown as it is."""
    if kind == "usage" and (tokens := tokens_in(data)):
        yield str(tokens)
        del data["usage"]
    yield from _place(kind, data)
    if kind == "clone" and isinstance(source := data.pop("from", None), str):
        yield f"from {name_of(source)} at #{data.pop('at', '?')}"
    if kind == "lost":
        yield f"#{data.pop('from', '?')} to #{data.pop('to', '?')} by the database server"
    if kind == "agent_killed":
        cascade, by = data.pop("cascade", False), data.pop("by", None)
        if isinstance(by, str):
            yield f"{'with' if cascade else 'by'} {name_of(by)}"
        elif cascade:
            yield "with its clones"
    for name, value in data.items():
        yield _known(kind, name, value) or f"{name} {_word(value)}"


def _shown_of(blocks: list[Any]) -> Iterator[str]:
    """Yield what is shown of the blocks of a message without a text, and of those in a result."""
    for block in blocks:
        if _is_media(block):
            yield media_in_short(block)
        elif isinstance(block, dict) and block.get("type") == "text":
            yield str(block.get("text", ""))
        elif isinstance(block, dict) and block.get("type") == "tool_result":
            content = block.get("content")
            yield from _shown_of(content if isinstance(content, list) else [{"type": "text", "text": content or ""}])
        elif isinstance(block, dict):
            yield from _asked_of(block)


def _asked_of(block: dict[str, Any]) -> Iterator[str]:
    """Yield what a block calls, what it asks a person, or what it answers."""
    kind, tool, text = (block.get(key) for key in ("type", "name", "data_json"))
    if kind == "tool_call" and isinstance(tool, str):
        question = question_in({"id": "", "arguments": "", **block})
        yield f"call {tool}" if question is None else question.words
    elif kind == "opaque" and isinstance(text, str) and (found := question_in(block) or decision_in(block)) is not None:
        yield found.words


def _named(blocks: list[Any]) -> Iterator[str]:
    """Yield what the blocks of a message are in which there is nothing to show, such as a framework's own events."""
    for block in blocks:
        kind, text = (block.get("type"), block.get("text")) if isinstance(block, dict) else (None, None)
        if kind == "opaque":
            yield _opaque(block)
        elif isinstance(kind, str):
            yield f"({kind}) {text}" if isinstance(text, str) and text else f"({kind})"


def _opaque(block: dict[str, Any]) -> str:
    """Return the kind of a provider's own block, if it says that, and whose it is."""
    text = block.get("data_json")
    own = parsed(text) if isinstance(text, str) else {}
    kind = next((name for key in _KINDS if isinstance(name := own.get(key), str) and name), "block")
    return f"({kind} of {block.get('provider', 'a provider')})"


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
