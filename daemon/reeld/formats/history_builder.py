"""Builds the messages of a history, or the one of an answer, from the blocks that a format reads.

The instructions that lead a history become its prompt (rule X13).
"""

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any

from reel.base.strict_json import Json
from reel.providers.blocks import privileged, text
from reel.providers.message_builder import MessageBuilder
from reel.providers.prompt import system_message
from reel.providers.roles import INSTRUCTION_ROLES
from reeld.formats.fields import LoadedRequest, Response, report_unused_keys, response_metadata


class HistoryBuilder(MessageBuilder):
    """Builds a whole history, or an answer.

    Args:
        provider: the provider of the body.
        models: names of the model that wrote the assistant's messages: the first that is one counts.
        made: the beginning of the ids that calls without one get.
    """

    def __init__(self, provider: str, *models: Any, made: str = "call") -> None:
        super().__init__(*models, made=made)
        self._provider = provider

    def loaded(self, body: Json, used: tuple[str, ...], *beside: list[Json]) -> LoadedRequest:
        """Return the whole history; the instructions that lead it are its prompt.

        Args:
            body: the request.
            used: its keys that are part of the history.
            beside: the content of each of the instructions that it has beside its messages.

        Raises:
            InvalidMessage: an instruction contains something other than text.
        """
        leading = list(takewhile(_is_instruction, self.messages))
        kept = privileged(self._provider, "system")
        apart = [{"role": "user", "content": content, **kept} for content in beside if content]
        prompt = system_message(self._provider, [*apart, *leading])
        return LoadedRequest([*prompt, *self.messages[len(leading) :]], [*self.report, *report_unused_keys(body, used)])

    def answer(
        self, beside: Mapping[str, Any], read: Iterable[str], *, broke_off: str | None = None, **found: Any
    ) -> Response:
        """Return the answer: the blocks of all messages, as one of the assistant's.

        Args:
            beside: the keys of the response.
            read: those among them that are stored elsewhere, or under another name.
            broke_off: why it is incomplete, if it is.
            found: values that every provider has, under neutral names.
        """
        blocks = [block for message in self.messages for block in message["content"]]
        kept = {key: value for message in self.messages for key, value in message.get("provider_metadata", {}).items()}
        metadata = {**kept, **response_metadata(self._provider, beside, read, model=self.model, **found)}
        message = {"role": "assistant", "content": blocks or [text("")], "provider_metadata": metadata}
        return Response(message, found.get("usage"), broke_off)


def _is_instruction(message: Json) -> bool:
    return message["role"] == "user" and message.get("provider_metadata", {}).get("role") in INSTRUCTION_ROLES
