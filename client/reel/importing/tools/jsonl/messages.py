"""Reads messages in several common formats: Chat Completions, Anthropic, Gemini, Responses, ShareGPT and ChatML.

Each is read as by ``reel load`` in the format that its parts belong to; what that refuses is kept whole.
"""

from collections import Counter
from itertools import chain
from typing import Any

from reel.base.errors import InvalidMessage
from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.sources import responses_items
from reel.importing.sources.agent_parts import RESULT_ROLE, Author, has_own_parts, read_message
from reel.importing.sources.blocks import by_role
from reel.importing.sources.gemini_parts import left_out_of_part
from reel.importing.steps import Part, Said
from reel.importing.values import list_in, other_fields, text_in
from reel.providers import anthropic, gemini, openai_chat, openai_responses
from reel.providers.elements import Element
from reel.providers.message_builder import MessageBuilder
from reel.providers.openai import PROVIDER as OPENAI
from reel.providers.prompt import system_message
from reel.providers.refusals import Refusals
from reel.providers.roles import INSTRUCTION_ROLES

_NAME = "jsonl"
_ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "gpt", "model", "ai", "bot", "chatgpt"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation", RESULT_ROLE.lower()), "tool"),
    **{role: role for role in INSTRUCTION_ROLES},
}
REASONING = ("reasoning_content", "reasoning")
# The parts by which a message of Anthropic, or of Responses, is told from one of Chat Completions.
_ANTHROPIC = frozenset(
    {"tool_use", "tool_result", "redacted_thinking", "image", "document", "server_tool_use", "web_search_tool_result"}
)
_RESPONSES = frozenset({"input_text", "output_text", "input_image", "input_file"})


_GEMINI_FIELDS = frozenset({"role", "parts"})


class Spoken(NamedTuple):
    """A message of one role: its blocks and its metadata."""

    role: str
    blocks: list[Json]
    metadata: Json


def role_in(found: Json) -> str:
    """Return the role of a message: user, assistant, tool, system or developer; empty if it has none."""
    return _ROLES.get((text_in(found, "role") or text_in(found, "from")).lower(), "")


class Chat:
    """Reads the messages of one conversation.

    Args:
        refused: how often something of a type was refused; is added to.
        model: the model that wrote the assistant's messages; empty if unknown.
    """

    def __init__(self, refused: Counter[str], model: str = "") -> None:
        self._refused = refused
        self._builder = MessageBuilder(model)

    def read(self, found: Json, index: int, *, is_first: bool) -> list[Spoken]:
        """Convert a message or an item.

        Args:
            found: the message.
            index: its number, from which ids are made for calls without ids.
            is_first: whether it is the first message: only then an instruction is the prompt.
        """
        if has_own_parts(found):
            return self._of_agent(found)
        api = _api_of(found)
        provider = api if api in ("anthropic", "gemini") else OPENAI
        refusals, self._builder.messages = Refusals(provider, self._refused), []
        try:
            self._add(api, Element(_with_role(found), f"messages[{index}]", refusals), index)
        except InvalidMessage:
            role = "assistant" if role_in(found) == "assistant" else "user"
            return [Spoken(role, [refusals.keep(found)], {})]
        if is_first and (prompt := _prompt(provider, self._builder.messages)):
            return prompt
        return [
            Spoken(owner, run, message.get("provider_metadata", {}))
            for message in self._builder.messages
            for owner, run in by_role(
                message["content"], "assistant" if message["role"] == "assistant" else "user", refusals
            )
        ]

    def _of_agent(self, found: Json) -> list[Spoken]:
        """Read a message in the form of an agent of its own: pi, or goose."""
        refusals, role = Refusals(_NAME, self._refused), role_in(found)
        speaker = "assistant" if role == "assistant" else "user"
        blocks = read_message(found, Author(_NAME, model=self._builder.model or ""), refusals)
        return [Spoken(owner, run, {}) for owner, run in by_role(blocks, speaker, refusals)]

    def _add(self, api: str, message: Element, index: int) -> None:
        if api == "gemini":
            gemini.read_content(self._builder, message, f"{index}_")
        elif api == "anthropic":
            anthropic.read_message(self._builder, message)
        elif api == "openai-responses":
            openai_responses.ItemReader(self._builder, message.refusals).add(message.value, f"input[{index}]")
        else:
            openai_chat.read_message(self._builder, message, f"{index}_")


def read_prompt(provider: str, blocks: list[Json]) -> list[Spoken]:
    """Return the prompt of a request that has it beside its messages, as a message; none for no blocks."""
    kept = {"provider_metadata": {"provider": provider, "role": "system"}}
    if not blocks:
        return []
    message = {"role": "user", "content": blocks, **kept}
    return _prompt(provider, [message]) or [Spoken("user", blocks, kept["provider_metadata"])]


def _prompt(provider: str, messages: list[Json]) -> list[Spoken]:
    """Return instructions as the prompt; nothing if they are no instructions, or more than texts."""
    if any(message.get("provider_metadata", {}).get("role") not in INSTRUCTION_ROLES for message in messages):
        return []
    try:
        made = system_message(provider, messages)
    except InvalidMessage:
        return []
    return [Spoken("system", _blocks(message["content"]), message.get("provider_metadata", {})) for message in made]


def _blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if type(content) is str else content


def left_out_of(found: Json) -> list[str]:
    """Return the fields of a message, or an item, that its blocks and metadata do not have."""
    match _api_of(found):
        case "gemini":
            of_parts = chain.from_iterable(map(left_out_of_part, list_in(found, "parts")))
            return [*other_fields(found, _GEMINI_FIELDS), *of_parts]
        case "openai-responses":
            return responses_items.left_out_of(found)
    return []


def said_from(spoken: list[Spoken], ref: str, sent: int | None, line: int = 0) -> list[Said]:
    """Convert one message to steps; the last one has the ref itself, because the next message follows it."""
    refs = [f"{ref}/{number}" for number in range(1, len(spoken))] + [ref]
    return [
        Said(role, (Part(name, blocks),), metadata, sent, line)
        for name, (role, blocks, metadata) in zip(refs, spoken, strict=True)
    ]


def _api_of(found: Json) -> str:
    """Return the format that a message, or an item, belongs to."""
    if "parts" in found:
        return "gemini"
    if not role_in(found):
        return "openai-responses"
    if any(text_in(part, "type") in _RESPONSES for part in list_in(found, "content")) or found.get("type") == "message":
        return "openai-responses"
    return "anthropic" if any(map(_is_anthropic, list_in(found, "content"))) else "openai-chat"


def _is_anthropic(part: Any) -> bool:
    """Whether a part is a block of Anthropic's; those of Mistral's thinking are a list."""
    if type(part) is not dict:
        return False
    return text_in(part, "type") in _ANTHROPIC or "cache_control" in part or type(part.get("thinking")) is str


def _with_role(found: Json) -> Json:
    """Return a message with the keys of the APIs: ShareGPT has its own, and programs have other names of roles."""
    role = role_in(found)
    if not role or (found.get("role") == role and "from" not in found and "value" not in found):
        return found
    rest = {key: value for key, value in found.items() if key not in ("from", "value", "role")}
    said = {"content": found["value"]} if "value" in found and "content" not in found else {}
    return {"role": role, **said, **rest}
