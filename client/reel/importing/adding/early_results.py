"""Results that an import saw before their calls.

Some tools write the result of a call while the answer with the call is not written yet, or not as a whole. An import
that looks then gives the result a place of its own. Once the answer is there, it is added where it belongs, and the
result is said again after it: what an import saw early is left behind (:mod:`reel.importing.adding.left_behind`).
"""

from collections.abc import Callable, Iterable

from reel.base.strict_json import Json
from reel.importing.steps import Said


def results_of(said: Said, places: Iterable[int], stored: Callable[[list[int]], list[Json]]) -> list[int]:
    """Return the messages that have results of the calls in a new message.

    Args:
        said: the new message.
        places: the messages that may be such, because they follow the same one.
        stored: returns the blocks that messages have in the log.
    """
    calls = {block["id"] for part in said.parts for block in part.blocks if block["type"] == "tool_call"}
    if not calls:
        return []
    return [place for place in places if calls & {block.get("tool_call_id") for block in stored([place])}]


def is_early(said: Said, place: int, answer: int | None) -> bool:
    """Return whether the log has results before the answer with their calls: an import saw them first.

    Args:
        said: the message with the results.
        place: where it is in the log.
        answer: the place of the answer before it, or ``None``.
    """
    return said.role == "tool" and answer is not None and place < answer
