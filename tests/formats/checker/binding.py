"""Bound thinking (rule A8): what was before a block when it was made must still be there."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.formats.checker.problem import Json, Problem


def prefix_changed(earlier: Json, later: Json) -> list[Problem]:
    """Return the thinking blocks of two bodies of Anthropic before which the later body differs.

    A block is not bound to cache breakpoints.
    """
    made = {signed: before for _, signed, before in signed_blocks(earlier)}
    return [
        Problem("prefix-changed", where, "what comes before it differs", careless=False)
        for where, signed, before in signed_blocks(later)
        if made.get(signed, before) != before
    ]


def unmarked(value: Any) -> Any:
    """Return a value without its cache breakpoints."""
    if isinstance(value, dict):
        return {key: unmarked(entry) for key, entry in value.items() if key != "cache_control"}
    return [unmarked(entry) for entry in value] if isinstance(value, list) else value


class Answered(NamedTuple):
    """What an answer is bound to: the body that it answered, if that matters. Its words tell it from other answers."""

    body: Json | None
    words: frozenset[str]


def bound_elsewhere(body: Json, answered: Mapping[str, Answered]) -> list[Problem]:
    """Return the signed blocks of a body, of Anthropic's or of Converse, that are behind something else than once.

    Args:
        body: a body.
        answered: what each signed block answered, by the word that it is signed with; others were never made here.
    """
    return [
        Problem("prefix-changed", where, why, careless=False)
        for where, signed, before in signed_blocks(body)
        if (why := _why_elsewhere(answered.get(signed), before))
    ]


def _why_elsewhere(made: Answered | None, before: list[Any]) -> str | None:
    if made is None:
        return "nobody knows what it was made behind"
    if made.body is None:
        return None
    given = everything(made.body)
    if before[: len(given)] != given:
        return "what comes before it differs"
    others = [said for said in before[len(given) :] if not any(word in json.dumps(said) for word in made.words)]
    strange = [said for said in others if said[0] != "assistant" or _is_somebodys(said[1])]
    return f"it is behind another answer to the same: {strange}" if strange else None


def _is_somebodys(block: Json) -> bool:
    """Return whether a block has words of an answer, and not only the marks that are between these."""
    return block.get("type") not in ("fallback", "web_search_tool_result") and "toolResult" not in block


def signed_blocks(body: Json) -> Iterator[tuple[str, str, list[Any]]]:
    """Return each signed block: its place, what it is signed with, and everything before it."""
    said = everything({**body, "messages": []})
    for place, message in enumerate(body["messages"]):
        for number, block in enumerate(unmarked(blocks_in(message))):
            if (signed := _signature(block)) is not None:
                yield f"messages[{place}].content[{number}]", signed, list(said)
            said.append((message["role"], block))


def everything(body: Json) -> list[Any]:
    """Return what a body is made of, without breakpoints: prompt and tools, and each block with its role."""
    tools = body.get("tools") or (body.get("toolConfig") or {}).get("tools")
    said = [(message["role"], block) for message in body["messages"] for block in unmarked(blocks_in(message))]
    return [unmarked(blocks_in({"content": body.get("system") or []})), _without_points(unmarked(tools)), *said]


def blocks_in(message: Json) -> list[Json]:
    """Return the blocks of a message; a text is one, and a cache point is none."""
    content = message["content"]
    found = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return _without_points(found)


def _without_points(found: list[Json] | None) -> list[Json]:
    return [block for block in found or [] if "cachePoint" not in block]


def _signature(block: Json) -> str | None:
    reasoning = block.get("reasoningContent")
    if isinstance(reasoning, dict):
        return str(reasoning.get("reasoningText", {}).get("signature") or reasoning.get("redactedContent"))
    kinds = {"thinking": "signature", "redacted_thinking": "data", "connector_text": "connector_text"}
    key = kinds.get(str(block.get("type")))
    return None if key is None else str(block.get(key))
