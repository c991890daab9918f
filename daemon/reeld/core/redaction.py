"""Redacting an event: its content is replaced with a marker, and its structure stays.

Roles, blocks, the ids of calls and results, and the links between events stay, so that the conversation renders as
before. Signed, encrypted or encoded content is replaced as a whole, because no provider accepts a part of it.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import encode, parse
from reel.base.values import Numeral
from reel.said.blocks import InvalidRecord
from reel.said.kinds import ROLES
from reel.said.records import Parts, parse_data, read_exactly
from reeld.core.rows import Row, row_as_blocks, row_from_blocks
from reeld.core.validation import MAX_KEY, MAX_VALUE

# With more matches than this in one text, the whole text is replaced: a marker is longer than most matches.
_MOST = 100
# A title may have as many characters.
_TITLE = 1024
# The markers: the first one that contains nothing of the removed text is used.
_PLAIN = ("[redacted]", "[removed]", "\u2588\u2588\u2588", "\u2592\u2592\u2592", "")
# State events whose data is nothing but seqs and ids.
_WITHOUT_CONTENT = frozenset({"clear", "clone", "restore", "revived", "redacted"})
# State events whose content the agent's row repeats.
LABELS = frozenset({"created", "changed"})


class Redacted(NamedTuple):
    """The redacted form of an event.

    ``is_restructured`` says that more than texts changed: a label, the name or the id of a call, or whether there is a
    message.
    """

    content: str | None
    data_json: str | None
    ref: str | None
    is_restructured: bool


class Redaction:
    """What is removed, and how.

    Args:
        about: when and by whom, for the marker.
        key: derives the new id of a call from a removed one, which cannot be recovered without it.
        texts: the texts to remove wherever they are; empty for all content.
        word: what the marker says was done.
    """

    def __init__(self, about: str, key: bytes, texts: Sequence[str] = (), word: str = "redacted") -> None:
        markers = (f"[{word} {about}]", *_PLAIN)
        self.marker = next(marker for marker in markers if not any(text in marker for text in texts))
        self._name = word if self.marker == markers[0] else "x"
        self._key = key
        # A text may contain JSON that contains further texts.
        forms = {form for text in texts for form in (text, encode(text)[1:-1], json.dumps(text)[1:-1])}
        self._texts = tuple(sorted(forms, key=len, reverse=True))
        self._bytes = [text.encode() for text in self._texts]
        self._pattern = re.compile(f"(?:{'|'.join(map(re.escape, self._texts))})+")

    @property
    def is_whole(self) -> bool:
        """Whether all content is removed."""
        return not self._texts

    def event(
        self, kind: str, content: str | None, data_json: str | None, ref: str | None, name: str
    ) -> Redacted | None:
        """Return what an event becomes; ``None`` if nothing of it is removed.

        Args:
            kind: its kind.
            content: its content.
            data_json: its data.
            ref: its id elsewhere.
            name: the current name of its agent, which stays.
        """
        if kind in _WITHOUT_CONTENT:
            return None
        changed = (
            self._message(kind, content, data_json) if kind in ROLES else self._other(kind, content, data_json, name)
        )
        kept = None if ref is not None and self._texts and self.touches(ref) else ref
        made = Redacted(changed[0], changed[1], kept, changed[2])
        return made if made[:3] != (content, data_json, ref) else None

    def places(self, data_json: str | None, paths: Iterable[Sequence[str]]) -> str:
        """Return the data of a record without what is removed in some places of it.

        Args:
            data_json: the data.
            paths: the keys that lead to the places; those that are not there are passed over.
        """
        data = parse_data(data_json or "{}")
        for path in paths:
            inside: Any = data
            for key in path[:-1]:
                inside = inside.get(key) if type(inside) is dict else None
            if type(inside) is dict and path[-1] in inside:
                inside[path[-1]] = self.value(inside[path[-1]])
        return encode(data)

    def touches(self, text: str) -> bool:
        """Return whether something of a text is removed."""
        return self.is_whole or any(part in text for part in self._texts)

    def text(self, text: str) -> str:
        """Return a text without what is removed."""
        if self.is_whole:
            return self.marker if text else text
        if not self.touches(text):
            return text
        replaced, number = self._pattern.subn(lambda _: self.marker, text)
        return replaced if number <= _MOST else self.marker

    def title(self, title: str | None) -> str | None:
        """Return a title without what is removed."""
        return None if title is None else self.text(title)[:_TITLE]

    def name(self, name: str, current: str) -> str:
        """Return a name that an agent had, without what is removed; its current one stays."""
        return name if name == current or not self.touches(name) else self._name

    def label(self, label: str | None) -> str | None:
        """Return the label of a mark, or ``None`` if something of it is removed."""
        return None if label is None or self.touches(label) else label

    def value(self, value: Any) -> Any:
        """Return a plain value without what is removed; keys and numbers stay if all content goes."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(inside) for inside in value]
        if isinstance(value, dict):
            return {key if self.is_whole else self.text(key): self.value(inside) for key, inside in value.items()}
        if type(value) in (int, float, Numeral) and not self.is_whole and self.touches(str(value)):
            return self.marker
        return value

    def _message(self, kind: str, content: str | None, data_json: str | None) -> tuple[str | None, str | None, bool]:
        try:
            parts = read_exactly(kind, content, data_json)
        except InvalidRecord:
            return self._unreadable(content, data_json)
        assert parts is not None  # noqa: S101 - these kinds have messages
        if data_json is None:
            return self.text(content or ""), None, False
        blocks = [self._block(block) for block in parts.content]
        keeps = not parts.provider_metadata or not self._touches_value(parts.provider_metadata)
        if keeps and blocks == parts.content:
            return content, data_json, False
        row = _row(kind, parts, blocks, parts.provider_metadata if keeps else {})
        return row.content, row.data_json, _tools(parts.content) != _tools(blocks)

    def _unreadable(self, content: str | None, data_json: str | None) -> tuple[str | None, str | None, bool]:
        """Redact a row that is not a valid message: it is shown as a record only."""
        known = "".join(filter(None, (content, data_json)))
        if self.touches(known):
            return self.marker, None, True
        return content, data_json, False

    def _other(
        self, kind: str, content: str | None, data_json: str | None, name: str
    ) -> tuple[str | None, str | None, bool]:
        # The key of a value stays even if all content goes: without it, an older value would become the newest one of
        # the key.
        made = content if content is None or (kind == "state" and self.is_whole) else self.text(content)
        if made is not None and kind == "state" and len(made) > MAX_KEY:
            made = self.call_id(content or "")
        if data_json is None:
            return made, None, False
        try:
            data = parse_data(data_json)
        except InvalidRecord:
            return self._unreadable(content, data_json)
        redacted = self._data(kind, data, name)
        if redacted == data:
            return made, data_json, kind == "mark"
        text = encode(redacted)
        if kind == "state" and len(text) > MAX_VALUE:  # a marker is longer than most matches
            text = encode({"value": self.marker})
        return made, text, kind == "mark"

    def _data(self, kind: str, data: dict[str, Any], name: str) -> dict[str, Any]:
        """Return the data of an event without what is removed."""
        if kind in ("mark", "rewind"):
            label = data.get("label")
            if not isinstance(label, str) or not self.touches(label):
                return data
            return {**data, "label": None} if kind == "mark" else {key: data[key] for key in data if key != "label"}
        if kind == "agent_killed":
            return {key: self.value(value) if key == "reason" else value for key, value in data.items()}
        if kind == "state":
            # JSON stays JSON; otherwise the value could not be imported again.
            deep = data.get("value_json")
            if isinstance(deep, str):
                return {**data, "value_json": self._json(deep)}
            return {key: self.value(value) for key, value in data.items()}
        if kind in LABELS:
            made = {key: self.value(value) for key, value in data.items()}
            made |= {"title": self.title(data["title"])} if "title" in data else {}
            if isinstance(own := data.get("name"), str):
                made["name"] = self.name(own, name)
            return made
        made = self.value(data)
        return dict(made)

    def _block(self, block: Mapping[str, Any]) -> dict[str, Any]:
        core = {field: value for field, value in block.items() if field != "provider_metadata"}
        made = self._core(core)
        metadata = block.get("provider_metadata")
        if made == core and not (metadata and self._touches_value(metadata)):
            return dict(block)
        return made

    def _core(self, block: dict[str, Any]) -> dict[str, Any]:
        """Return a block without its metadata, and without what is removed."""
        kind = block["type"]
        if kind == "text":
            return {**block, "text": self.text(block["text"])}
        if kind == "tool_call":
            call_id, name = self.call_id(block["id"]), self.tool(block["name"])
            return {**block, "id": call_id, "name": name, "arguments": self._json(block["arguments"])}
        if kind == "tool_result":
            content = block["content"]
            made = self.text(content) if isinstance(content, str) else [self._block(inside) for inside in content]
            return {**block, "tool_call_id": self.call_id(block["tool_call_id"]), "content": made}
        if kind == "thinking":
            rest = {key: value for key, value in block.items() if key != "type"}
            return {"type": kind, "text": self.text(block["text"])} if self._touches_value(rest) else block
        return {"type": "text", "text": self.marker} if self._touches_encoded(block) else block

    def _touches_value(self, value: Any) -> bool:
        return self.is_whole or self.value(value) != value

    def _touches_encoded(self, block: dict[str, Any]) -> bool:
        """Return whether something of a block is removed that is encoded or of one provider's own."""
        if self._touches_value(block):
            return True
        if "data_base64" in block:
            try:
                data = b64decode(block["data_base64"])
            except ValueError:
                return False
            return any(part in data for part in self._bytes)
        data_json = block.get("data_json")
        return data_json is not None and self._json(data_json) != data_json

    def call_id(self, call_id: str) -> str:
        """Return the id of a call: another one, the same for the call and its results, if it has what is removed."""
        if self.is_whole or not self.touches(call_id):
            return call_id
        return f"{self._name}_{blake2b(call_id.encode(), key=self._key, digest_size=8).hexdigest()}"

    def tool(self, name: str) -> str:
        """Return the name of a tool without what is removed."""
        return name if self.is_whole or not self.touches(name) else self._name

    def _json(self, text: str) -> str:
        """Return a JSON text without what is removed, in its strings and in what they are written as."""
        instead = encode({self._name: self.marker})
        if self.is_whole:
            return instead
        try:
            data = parse(text)
        except (ValueError, RecursionError):
            return instead if self.touches(text) else text
        try:
            redacted = self.value(data)
        except RecursionError:  # too close to the depth limit: it is replaced as a whole
            return instead if self.touches(encode(data)) else text
        made = text if redacted == data else encode(redacted)
        return instead if self.touches(made) else made


def _row(kind: str, parts: Parts, blocks: list[dict[str, Any]], metadata: dict[str, Any]) -> Row:
    """Return the row of a message of a kind; a call of an older form loses the thinking that was stored with it."""
    if kind == "tool_call":
        return row_from_blocks(parts.role, [block for block in blocks if block["type"] == "tool_call"], {})
    return row_as_blocks(kind, parts.role, blocks, metadata)


def _tools(blocks: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the calls and results of a message."""
    return [
        (block.get("id"), block.get("name"), block.get("tool_call_id")) for block in blocks if "tool" in block["type"]
    ]
