"""Results that an import saw before their calls.

Some tools write the result of a call while the answer with the call is not written yet, or not as a whole. An import
that looks then gives the result a place of its own. Once the answer is there, it is added where it belongs, and the
result is said again after it: what an import saw early is left behind (:mod:`reel.importing.adding.left_behind`).
"""

from collections.abc import Callable, Iterable

from reel.base.strict_json import Json
from reel.importing.adding.left_behind import ref_after
from reel.importing.adding.log import Log
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


def was_early(said: Said, answer: str, log: Log) -> bool:
    """Return whether the log has results again after the answer with their calls, since it had them before that.

    Args:
        said: the message with the results.
        answer: the id of the answer before it.
        log: what is known of the log.
    """
    return said.role == "tool" and log.place_of(ref_after(said.parts[-1].ref, answer)) is not None
