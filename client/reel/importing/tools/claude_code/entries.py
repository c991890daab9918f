"""Converts entries of a Claude Code transcript to steps that also keep the entries themselves.

An entry with content becomes messages. The rest of the entry is kept as its form, which :mod:`reel.said.item_forms`
explains. Every other entry becomes a note with the whole entry. Both can be restored deeply equal.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from reel.base.strict_json import Json, encode, parse
from reel.base.values import clean_deep, is_clean, numbers_as_text
from reel.importing.steps import Compacted, Kept, Middle, Part, Said, Step
from reel.importing.tools.claude_code.records import FACTS, SPOKEN, read_record, unknown_record
from reel.importing.tools.claude_code.thread import Thread
from reel.importing.values import text_in
from reel.providers.anthropic import PROVIDER
from reel.providers.refusals import Refusals
from reel.said.blocks import InvalidRecord, check_blocks, check_map
from reel.said.item_forms import ITEM, check_of, form_of, item_from, texts_of
from reel.said.messages import COMPACTED

FORMAT = "x-claude-agent-sdk"
# The key of a note's data that holds the entry.
_ENTRY = "claude_code"
# The fields that all entries of a transcript share.
_PLACE = ("sessionId", "cwd", "version", "gitBranch", "userType", "isSidechain", "agentId", "entrypoint")


def json_of(entry: Any) -> str:
    """Return an entry as JSON, limited to characters that are valid in a message.

    Raises:
        ValueError: JSON cannot represent it.
    """
    try:
        text = encode(entry)
        return text if is_clean(text) else encode(entry, ascii_only=True)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def steps_of(entry: Json, ref: str, thread: Thread) -> Iterator[Step]:
    """Convert an entry to steps, in the order of the conversation, without holding any back for a later entry.

    Args:
        entry: the entry.
        ref: its ``uuid``, or a generated id if it has none.
        thread: the conversation so far.
    """
    found, _ = clean_deep(entry)
    steps = list(follow(found, ref, thread))
    said = [one for step in steps if (one := _said_in(step)) is not None]
    if said:
        yield from _with_messages(steps, _with_form(entry, said))
        return
    kept = [step for step in steps if isinstance(step, Kept)]
    note = next((step for step in kept if step.kind == "note"), None) or unknown_record(found, 0)
    fact = text_in(found, FACTS.get(text_in(found, "type"), ""))
    yield note._replace(ref=ref, content=note.content or fact or None, data={_ENTRY: json_of(entry)})
    # An answer may be empty; it still used tokens.
    yield from (step for step in kept if step.kind == "usage")


def _said_in(step: Step) -> Said | None:
    return step.said if isinstance(step, Compacted) else step if isinstance(step, Said) else None


def follow(found: Json, ref: str, thread: Thread) -> Iterator[Step]:
    """Add an entry to a conversation, and yield its steps there.

    Args:
        found: the entry, with clean texts.
        ref: as in :func:`steps_of`.
        thread: the conversation so far.
    """
    if not text_in(found, "uuid") and text_in(found, "type") not in SPOKEN:
        return
    record = read_record({**found, "uuid": ref}, 0, Refusals(PROVIDER))
    if record.rule:
        thread.follow(ref, record.parent)
        return
    # The transcript is here as a whole, from its beginning.
    yield from (step for step in thread.read(record) if not isinstance(step, Middle))
    yield from thread.flush()


def _with_messages(steps: list[Step], messages: list[Said]) -> Iterator[Step]:
    """Yield steps with their messages replaced."""
    rest = iter(messages)
    for step in steps:
        if isinstance(step, Compacted):
            yield step._replace(summary=next(rest))
        elif not isinstance(step, Said):
            yield step
        elif (message := next(rest, None)) is not None:
            yield message


def _with_form(entry: Json, said: list[Said]) -> list[Said]:
    """Return the messages of an entry: the first one with the rest of the entry, each other one with its index."""
    messages = [_as_read(one) for one in said]
    if not all(map(_is_valid, messages)):
        # A message cannot hold everything that an entry can, such as a tool name of any length.
        whole = {"type": "opaque", "provider": PROVIDER, "data_json": json_of(entry)}
        role = "user" if said[-1].role == "tool" else said[-1].role  # a tool's message only has results
        metadata = {key: value for key, value in said[-1].metadata.items() if key == COMPACTED}
        said = [said[-1]._replace(role=role, parts=(Part(said[-1].parts[-1].ref, [whole]),), metadata=metadata)]
        messages = [_as_read(said[0])]
    form = form_of(entry, texts_of(messages))
    kept: Json = {"format": FORMAT, "form_json": json_of(form), "check": check_of(messages, form)}
    if len(messages) > 1:
        kept["of"] = len(messages)
    places = [kept, *({"part": place} for place in range(1, len(messages)))]
    return [
        one._replace(
            parts=(Part(one.parts[-1].ref, message["content"]),),
            metadata={**message["provider_metadata"], ITEM: place},
        )
        for one, message, place in zip(said, messages, places, strict=True)
    ]


def _as_read(said: Said) -> Json:
    """Return a message in the form in which it will be read."""
    blocks = [block for part in said.parts for block in part.blocks]
    (blocks, metadata), _ = numbers_as_text([blocks, said.metadata])
    return {"role": said.role, "content": blocks, "provider_metadata": metadata}


def _is_valid(message: Json) -> bool:
    try:
        check_blocks(message["content"], message["role"], "content")
    except InvalidRecord:
        return False
    return check_map(message["provider_metadata"]) is None


def parts_of(message: Mapping[str, Any]) -> int:
    """Return the number of messages of the entry that begins with this one; 0 if none does."""
    kept = message["provider_metadata"].get(ITEM)
    if type(kept) is not dict or kept.get("format") != FORMAT:
        return 0
    count = kept.get("of", 1)
    return count if type(count) is int and count > 0 else 0


def is_part(message: Mapping[str, Any], place: int) -> bool:
    """Return whether a message is the one at this index of an entry."""
    kept = message["provider_metadata"].get(ITEM)
    return type(kept) is dict and kept.get("part") == place


def entry_of(messages: Sequence[Mapping[str, Any]]) -> Json | None:
    """Return the entry that messages were added as; ``None`` if they are of other origin, or were changed since."""
    kept: Any = messages[0]["provider_metadata"][ITEM]
    said: list[Json] = [dict(message) for message in messages]
    try:
        form = parse(kept["form_json"])
        if kept.get("check") != check_of(said, form):
            return None
        entry = item_from(form, texts_of(said))
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return entry if type(entry) is dict else None


def entry_in_note(data_json: str | None) -> Json | None:
    """Return the entry that a note holds; ``None`` if it holds none."""
    try:
        data = parse(data_json or "")
        entry = parse(data[_ENTRY]) if type(data) is dict else None
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return entry if type(entry) is dict else None


def entry_from(item: Json, uuid: str, parent: str | None, like: Json, time: int) -> Json:
    """Return an entry for a foreign message.

    Args:
        item: the message, in Anthropic's format.
        uuid: the id of the entry.
        parent: the id of the entry before it.
        like: an entry of the same transcript.
        time: when it was added, in milliseconds since the epoch.
    """
    when = datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    content = item["content"]
    message = {"role": item["role"], "content": content}
    if item["role"] == "assistant":
        blocks = [{"type": "text", "text": content}] if type(content) is str else content
        message = {"id": f"msg_{uuid}", "type": "message", **message, "content": blocks}
    return {
        "isSidechain": False,
        "userType": "external",
        **{key: like[key] for key in _PLACE if key in like},
        "parentUuid": parent,
        "type": item["role"],
        "message": message,
        "uuid": uuid,
        "timestamp": when,
    }
