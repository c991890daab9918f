"""vLLM (rules D16, D17 and D18)."""

from collections.abc import Mapping, Sequence

from reel.strict_json import Json
from reeld.formats.openai_chat.dialects.dialect import Dialect, Media, Reasoning, text_of


def _add_reasoning(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    return {**message, "reasoning": text_of(thoughts)} if thoughts else message


DIALECT = Dialect(
    "vllm",
    "vLLM",
    instructions_anywhere=False,
    names=False,
    media=Media(files=False),
    alternates=True,
    reasoning=Reasoning(_add_reasoning),
)
