"""Reads the messages of pi, as its model gets them."""

from collections.abc import Iterator, Mapping

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.sources import agent_parts
from reel.importing.sources.agent_parts import RESULT_ROLE, Author
from reel.importing.sources.blocks import made_by
from reel.importing.values import map_in, other_fields, text_in
from reel.providers.blocks import text as text_block
from reel.providers.openai import PROVIDER as OPENAI
from reel.providers.refusals import Refusals

# Who signs the thinking that came from an API, by the beginning of its name.
_SIGNERS = {"anthropic": "anthropic", "openai": OPENAI, "azure-openai": OPENAI, "google": "gemini"}
_CUSTOM = ("custom", "hookMessage")
# What pi writes around a summary before it sends it.
_SUMMARY = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
_BRANCH = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
_FENCE = "```"
# The fields of a message of which something is made, by its role.
_COMMON = frozenset({"role", "content", "timestamp"})
_FIELDS = {
    "user": _COMMON,
    "assistant": _COMMON | {"api", "provider", "model", "usage", "stopReason", "errorMessage"},
    "system": _COMMON | {"sections"},
    RESULT_ROLE: _COMMON | {"toolCallId", "toolName", "isError", "usage"},
    "tool": _COMMON | {"toolCallId", "toolName", "isError", "usage"},
    "bashExecution": _COMMON
    | {"command", "output", "exitCode", "cancelled", "truncated", "fullOutputPath", "excludeFromContext"},
    "branchSummary": _COMMON | {"summary", "fromId"},
    "compactionSummary": _COMMON | {"summary", "tokensBefore"},
    **dict.fromkeys(_CUSTOM, _COMMON | {"customType", "display"}),
}
# What says something in a message, if not its content.
_SAYS = {"bashExecution": "command", "branchSummary": "summary", "compactionSummary": "summary"}


class Message(NamedTuple):
    """A message: who says it to whom, in blocks.

    Args:
        role: user or assistant, for all that is neither a call nor a result.
        blocks: its blocks.
        metadata: its ``provider_metadata``.
        is_prompt: whether a person wrote it.
    """

    role: str
    blocks: list[Json]
    metadata: Json
    is_prompt: bool = False


def read_message(found: Json, tool: str, refusals: Refusals) -> Message | None:
    """Convert a message; ``None`` if the model does not get it, or its role is unknown."""
    role = text_in(found, "role")
    if role == "assistant":
        return _answer(found, tool, refusals)
    if role in ("user", *_CUSTOM):
        kept = {"provider": tool, "custom_type": text_in(found, "customType")} if role in _CUSTOM else {}
        blocks = agent_parts.read_message({**found, "role": "user"}, Author(tool), refusals)
        return Message("user", blocks, kept, is_prompt=role == "user")
    if role in (RESULT_ROLE, "tool"):
        return Message("user", agent_parts.read_message({**found, "role": RESULT_ROLE}, Author(tool), refusals), {})
    if role == "bashExecution" and found.get("excludeFromContext") is not True:
        return Message("user", [text_block(_ran(found))], {"provider": tool, "command": text_in(found, "command")})
    if role in ("branchSummary", "compactionSummary"):
        return Message("user", [text_block(summary_text(text_in(found, "summary"), role == "branchSummary"))], {})
    return None


def unknown_kind(found: Json) -> str:
    """Return what a message is if nothing can be made of it: its role is unknown, or it lacks what it is for."""
    role = text_in(found, "role")
    if role not in _FIELDS:
        return f"role {role or 'missing'}"
    return f"{role} without content" if _SAYS.get(role, "content") not in found else ""


def is_incomplete(found: Json) -> bool:
    """Return whether an answer broke off without a call: pi does not send it again."""
    blocks = found.get("content")
    calls = any(text_in(part, "type") == "toolCall" for part in blocks) if type(blocks) is list else False
    return found.get("stopReason") in ("error", "aborted") and not calls


def left_out_of(found: Json) -> Iterator[str]:
    """Yield the fields of a message that its blocks do not have."""
    yield from other_fields(found, _FIELDS[text_in(found, "role")], f"{found['role']}.")
    yield from agent_parts.left_out_of(found)


def summary_text(summary: str, of_branch: bool = False) -> str:  # noqa: FBT001, FBT002 - of two texts
    """Return a summary as the model gets it."""
    return f"{_BRANCH}{summary}</summary>" if of_branch else f"{_SUMMARY}{summary}\n</summary>"


class Prompt(NamedTuple):
    """A system prompt: a text, and sections that later messages replace by their names."""

    text: str = ""
    sections: Mapping[str, str] = {}

    def changed(self, found: Json) -> "Prompt":
        """Return the prompt after a system message; a section of null is removed."""
        added = agent_parts.read_parts(found.get("content"), Author(""), Refusals(""))
        texts = [self.text, *(block["text"] for block in added if block["type"] == "text")]
        sections = {**self.sections, **map_in(found, "sections")}
        kept = {name: text for name, text in sections.items() if type(text) is str}
        return Prompt("\n\n".join(filter(None, texts)), kept)

    def __str__(self) -> str:
        return "\n\n".join(filter(None, [self.text, *self.sections.values()]))


def _answer(found: Json, tool: str, refusals: Refusals) -> Message:
    api, model = text_in(found, "api"), text_in(found, "model")
    signer = next((signer for beginning, signer in _SIGNERS.items() if api.startswith(beginning)), "")
    provider = signer or text_in(found, "provider") or tool
    metadata = made_by(provider, model)
    return Message("assistant", agent_parts.read_message(found, Author(tool, signer, model), refusals), metadata)


def _ran(found: Json) -> str:
    """Return a command that the person ran, as the model gets it."""
    output, code = text_in(found, "output"), found.get("exitCode")
    text = f"Ran `{text_in(found, 'command')}`\n" + (f"{_FENCE}\n{output}\n{_FENCE}" if output else "(no output)")
    if found.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif type(code) is int and code:
        text += f"\n\nCommand exited with code {code}"
    if found.get("truncated") is True and (path := text_in(found, "fullOutputPath")):
        text += f"\n\n[Output truncated. Full output: {path}]"
    return text
