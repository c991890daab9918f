"""What the model of Kimi Code gets now: which messages an undo takes back, and which a compaction keeps."""

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.values import map_in, text_in

_BY_PERSON = ("skill_activation", "plugin_command")


class Live(NamedTuple):
    """A message that the model gets.

    Args:
        ref: its ref.
        is_prompt: whether the person said it.
        prompt: the id of the prompt that the tool put it before, or its own; empty if it has none.
        is_summary: whether it is the summary of a compaction.
    """

    ref: str
    is_prompt: bool = False
    prompt: str = ""
    is_summary: bool = False


def is_prompt(message: Json) -> bool:
    """Return whether the person said a message, and not the tool."""
    origin = map_in(message, "origin")
    kind = text_in(origin, "kind")
    by_person = kind in ("", "user") or (kind in _BY_PERSON and text_in(origin, "trigger") == "user-slash")
    return message.get("role") == "user" and by_person


def live_of(message: Json, ref: str) -> Live:
    """Return a message as one that the model gets."""
    owner = text_in(map_in(message, "origin"), "ownerPromptId")
    return Live(ref, is_prompt(message), owner or text_in(message, "id"))


def undone(live: list[Live], count: int) -> int | None:
    """Return how many messages stay when so many prompts are taken back; ``None`` if there are not as many."""
    at, left = len(live), count
    while at > 0 and left > 0:
        at -= 1
        if live[at].is_summary:
            return None
        left -= live[at].is_prompt
    prompt = live[at].prompt if at < len(live) else ""
    while prompt and at > 0 and not live[at - 1].is_prompt and live[at - 1].prompt == prompt:
        at -= 1
    return None if left else at


def kept_beside(live: list[Live], found: Json) -> tuple[list[Live], list[Live]]:
    """Return the messages that a compaction keeps: before the summary, and, in older versions, after it."""
    count, head = found.get("keptUserMessageCount"), found.get("keptHeadUserMessageCount")
    if type(count) is not int:
        after = found.get("compactedCount", found.get("count"))
        return [], live[after:] if type(after) is int and after >= 0 else []
    prompts = [one for one in live if one.is_prompt]
    first = min(head, count) if type(head) is int and head > 0 else 0
    last = max(count - first, 0)
    return [*prompts[:first], *prompts[max(len(prompts) - last, first) :]] if last else prompts[:first], []
