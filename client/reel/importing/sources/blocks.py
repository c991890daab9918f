"""Makes the blocks of a message valid, whatever a history has."""

from collections.abc import Iterator
from typing import Any

from reel.base.errors import InvalidMessage
from reel.base.strict_json import Json
from reel.importing.steps import Part, Said
from reel.providers import anthropic
from reel.providers.blocks import tool_call
from reel.providers.refusals import Refusals
from reel.providers.roles import split_by_role
from reel.said.blocks import ALLOWED, check_name
from reel.touches.exit_status import EXIT_STATUS

# Windows has unsigned ones of 32 bits.
_LARGEST_STATUS = (1 << 32) - 1


def made_by(provider: str, model: str) -> Json:
    """Return who made a message, a block or a count, as fields of it: a provider, and the model if it is known."""
    return {"provider": provider, "model": model} if model else {"provider": provider}


def call_block(call_id: str, name: str, arguments: Any) -> Json:
    """Return the block of a call, which may have neither an id nor a name."""
    return tool_call(call_id or "call", name or "unknown", arguments)


def with_exit_status(result: Json, provider: str, status: Any) -> Json:
    """Return the result of a command with its exit status beside it, if that is a number: its text may not have it."""
    if type(status) is not int or abs(status) > _LARGEST_STATUS:
        return result
    return {**result, "provider_metadata": {"provider": provider, EXIT_STATUS: status}}


def anthropic_blocks(content: Any, refusals: Refusals, model: str = "") -> list[Json]:
    """Return the blocks of content in Anthropic's format, as ``reel load`` reads them; what it refuses is kept whole.

    Args:
        content: a string or a list of blocks.
        refusals: keeps what is refused.
        model: the model that generated it; empty if none did.
    """
    try:
        return anthropic.read_blocks(content, "content", model or None, refusals)
    except InvalidMessage:
        return [refusals.keep(content)]


def by_role(blocks: list[Json], role: str, refusals: Refusals) -> list[tuple[str, list[Json]]]:
    """Return the blocks of a message in runs of one role: a result belongs to the tool, a call to the assistant."""
    runs = split_by_role([block if is_named(block) else refusals.keep(block) for block in blocks], role)
    for owner, run in runs:
        allowed = ALLOWED[owner]
        for place, block in enumerate(run):
            if block["type"] not in allowed:
                run[place] = refusals.keep(block)
    return runs


def said_from(blocks: list[Json], role: str, said: Said, refusals: Refusals) -> Iterator[Said]:
    """Yield the messages of one record: one that contains results becomes several.

    Args:
        blocks: its blocks.
        role: who says what is neither a call nor a result.
        said: what all of them have: the ref, which the last one has itself, the metadata of an answer, the time, and
            the line. Its blocks and its role are of no matter.
        refusals: keeps blocks that a message may not have.
    """
    ref = said.parts[0].ref
    runs = by_role(blocks, role, refusals) if blocks else []
    for number, (owner, run) in enumerate(runs):
        name = ref if number == len(runs) - 1 else f"{ref}/{number}"
        yield said._replace(role=owner, parts=(Part(name, run),), metadata=said.metadata if owner == role else {})


def fitting(block: Json, holder: str, refusals: Refusals) -> Json:
    """Return a block that a message of a role, or a result, may have: one that it may not have is kept whole."""
    return block if block["type"] in ALLOWED[holder] and is_named(block) else refusals.keep(block)


def is_named(block: Json) -> bool:
    """Whether the names and ids in a block are valid in a message."""
    kind = block["type"]
    if kind == "tool_call":
        return check_name(block["id"]) is None and check_name(block["name"]) is None
    return kind != "tool_result" or check_name(block["tool_call_id"]) is None
