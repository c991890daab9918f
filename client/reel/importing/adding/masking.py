"""What an import does with keys and passwords in what it brings in: the one place for all tools.

They are looked for in what was read, before it becomes commands. What identifies a message is not changed, so a message
is known again whatever was done with it: its ``ref``, and where words are compared, these without their secrets.
"""

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from reel.base.strict_json import Json, encode, parse
from reel.importing.steps import About, Compacted, Kept, Part, Said, Step
from reel.importing.values import map_in, text_in
from reel.secrets.finding import Found, anonymous, find, mask

# Returns a text without its secrets.
Replace: TypeAlias = Callable[[str], str]

# The fields of blocks with words in them. Others are ids, or were encrypted or signed by a provider.
_WORDS = {
    "text": ("text",),
    "tool_call": ("arguments",),
    "thinking": ("text",),
    "media": ("url", "name"),
    "opaque": ("data_json",),
}
_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml", "application/toml")


class Masking:
    """Masks secrets, or only counts them, in the steps of an import.

    Args:
        mode: what to do: ``mask``, ``mark`` or ``keep``.
        fingerprint: returns the fingerprint of a secret; for ``mask``.
    """

    def __init__(self, mode: str = "keep", fingerprint: Callable[[str], str] = str) -> None:
        self._mode = mode
        self._fingerprint = fingerprint
        # The secrets that were seen, by their hashes.
        self._seen: set[tuple[str, int]] = set()

    @property
    def is_masking(self) -> bool:
        """Whether marks take the place of secrets."""
        return self._mode == "mask"

    @property
    def found(self) -> Counter[str]:
        """How many different secrets were seen, by their kinds."""
        return Counter(kind for kind, _ in self._seen)

    def steps(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Return steps without their secrets, or as they are."""
        return steps if self._mode == "keep" else [*map(self._step, steps)]

    def event(self, event: Json) -> Json:
        """Return an event of a log without its secrets, or as it is."""
        return event if self._mode == "keep" else event_with(event, self._text)

    def agent(self, about: Json) -> Json:
        """Return the facts about an agent without the secrets in its title and tags, or as they are."""
        return about if self._mode == "keep" else agent_with(about, self._text)

    def _text(self, text: str) -> str:
        """Count the secrets of a text, and return it without them, or as it is."""
        found = find(text)
        if not found:
            return text
        self._seen.update(map(_seen, found))
        return mask(text, self._fingerprint) if self.is_masking else text

    def _step(self, step: Step) -> Step:
        match step:
            case Said():
                return self._said(step)
            case Compacted():
                return step._replace(summary=self._said(step.summary))
            case Kept():
                is_words = step.content is not None and step.kind != "state"  # else it is the key of a value
                content = self._text(step.content or "") if is_words else step.content
                data = value_with(step.data, self._text)
                if data is step.data and content == step.content:
                    return step
                return step._replace(content=content, data=data)
            case About():
                return step._replace(title=self._text(step.title), tags=tags_with(step.tags, self._text))
        return step

    def _said(self, said: Said) -> Said:
        parts = tuple(map(self._part, said.parts))
        metadata = value_with(said.metadata, self._text)
        if metadata is said.metadata and parts == said.parts:  # as nearly all
            return said
        return said._replace(parts=parts, metadata=metadata)

    def _part(self, part: Part) -> Part:
        blocks = blocks_with(part.blocks, self._text)
        return part if blocks == part.blocks else part._replace(blocks=blocks)


def _seen(found: Found) -> tuple[str, int]:
    return found.kind, hash(found.text)


def blocks_with(blocks: list[Any], replace: Replace) -> list[Any]:
    """Return the blocks of a message with other texts; those that stay are the same objects."""
    return [_block(block, replace) for block in blocks]


def known_again(blocks: list[Any]) -> list[Any]:
    """Return blocks in a form in which they are equal if they differ only in what was done with their secrets."""
    return blocks_with(blocks, anonymous)


def tags_with(tags: Mapping[str, str], replace: Replace) -> dict[str, str]:
    """Return tags with other values."""
    return {name: replace(value) if type(value) is str else value for name, value in tags.items()}


def agent_with(about: Json, replace: Replace) -> Json:
    """Return the facts about an agent with another title and other tags."""
    title, tags = text_in(about, "title"), map_in(about, "tags")
    return {**about, "title": replace(title), "tags": tags_with(tags, replace)}


def value_with(value: Any, replace: Replace) -> Any:
    """Return a plain value with other texts; the same object if they stay.

    It is replaced as JSON, where a name stands beside its value. No mark has a character that JSON writes otherwise.
    """
    if not value:
        return value
    text = encode(value)
    made = replace(text)
    return value if made == text else parse(made)


def event_with(event: Json, replace: Replace) -> Json:
    """Return an event of a log with other texts."""
    made = dict(event)
    if type(content := event.get("content")) is str and event["kind"] != "state":
        made["content"] = replace(content)
    if type(data_json := event.get("data_json")) is str:
        made["data_json"] = _data_with(data_json, replace)
    return made


def _data_with(data_json: str, replace: Replace) -> str:
    made = replace(data_json)
    if made == data_json:
        return data_json
    try:
        data = parse(data_json)
    except (ValueError, RecursionError):
        return made
    if isinstance(data, dict) and type(blocks := data.get("blocks")) is list:
        rest = value_with({name: value for name, value in data.items() if name != "blocks"}, replace)
        return encode({**rest, "blocks": blocks_with(blocks, replace)})
    return made


def _block(block: Any, replace: Replace) -> Any:
    kind = block.get("type")
    changed: dict[str, Any] = {}
    for name in _WORDS.get(kind, ()):
        if type(text := block.get(name)) is str and (made := replace(text)) != text:
            changed[name] = made
    if kind == "tool_result":
        content = block.get("content")
        said = replace(content) if type(content) is str else blocks_with(content or [], replace)
        if said != content:
            changed["content"] = said
    elif kind == "media" and block.get("data_base64") and block.get("mime_type", "").startswith(_TEXTUAL):
        changed["data_base64"] = _encoded_with(block["data_base64"], replace)
    if metadata := block.get("provider_metadata"):
        changed["provider_metadata"] = value_with(metadata, replace)
    if not changed or changed.items() <= block.items():  # as nearly all
        return block
    if kind == "thinking":  # its signature is that of other words
        return {"type": kind, "text": changed.get("text", block["text"])}
    return {**block, **changed}


def _encoded_with(data: str, replace: Replace) -> str:
    """Return the base64 of a text with another one; unchanged if it is not base64."""
    try:
        text = b64decode(data, validate=True).decode()
    except ValueError:
        return data
    made = replace(text)
    return data if made == text else b64encode(made.encode()).decode()
