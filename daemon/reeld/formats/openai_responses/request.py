"""A whole request of Responses, read into the messages of a conversation."""

from itertools import takewhile

from reeld.formats.fields import Json, Loaded, history_at, left_to_extra, refused, text_at
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_responses.items import Gathering
from reeld.formats.openai_responses.parts import text
from reeld.formats.prompt import prompt_of

_OUTSIDE = ("previous_response_id", "conversation", "prompt")


def load(body: Json, model: str | None = None) -> Loaded:
    """Read a request body.

    The instructions and the system and developer messages that lead it become the prompt, later ones user messages
    that say so in ``provider_metadata.role``.

    Args:
        body: the whole object, with its ``input``.
        model: who said what the assistant says, where the body does not say.

    Raises:
        InvalidMessage: something in it is no item, or the history begins outside the body; ``data.field`` is the place.
    """
    for key in _OUTSIDE:
        if body.get(key) is not None:
            raise refused(key, "the history begins outside this body; load one that has all of it")
    given = body.get("input")
    items = history_at([given] if type(given) is str else given, "input", "Responses")
    gathering = Gathering(body.get("model") or model)
    for index, item in enumerate(items):
        gathering.take(item, f"input[{index}]")
    leading = list(takewhile(_leads, gathering.messages))
    prompt = prompt_of(PROVIDER, [*_instructions(body), *leading])
    beside = left_to_extra(body, ("input", "instructions", "model"))
    return Loaded([*prompt, *gathering.messages[len(leading) :]], [*gathering.pairing.report, *beside])


def _leads(message: Json) -> bool:
    return "role" in message.get("provider_metadata", {})


def _instructions(body: Json) -> list[Json]:
    """Read the instructions, which are the prompt whatever stands in the input."""
    if body.get("instructions") is None:
        return []
    instructions = text(text_at(body["instructions"], "instructions"))
    return [{"role": "user", "content": [instructions], "provider_metadata": {"provider": PROVIDER, "role": "system"}}]
