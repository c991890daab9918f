"""Where an answer is rendered that came after others had spoken: directly behind what it answers.

The log has it behind their messages, and its metadata say how many these are (:mod:`reeld.core.standing`). What the
provider was sent when it answered stays the beginning of what it is sent now (rule X2), and their messages follow.

No answer moves before another one. So a settled exchange stays as it is: one settles when somebody speaks after the
assistant, and whatever is moved passes only what was said since the assistant spoke last, which is open.
"""

from collections.abc import Sequence

from reel.base.strict_json import Json
from reel.said.messages import LATE
from reeld.core.events import late_by


def in_turn(messages: Sequence[Json]) -> list[int] | None:
    """Return the indexes of messages in the order in which they are rendered; ``None`` if that is their own."""
    # Nearly no message has the word: a call for each would take a hundredth of a first rendering.
    marked = [index for index, message in enumerate(messages) if LATE in message["provider_metadata"]]
    late = {index: count for index in marked if (count := late_by(messages[index]["provider_metadata"]))}
    if not late:
        return None
    order: list[int] = []
    for index in range(len(messages)):
        place = len(order)
        while place > len(order) - late.get(index, 0) and place and messages[order[place - 1]]["role"] != "assistant":
            place -= 1
        order.insert(place, index)
    return order
