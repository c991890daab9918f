"""Reads what one call did, from its block and from that of its result."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reel.base.strict_json import parse
from reel.touches.outcomes import outcome_of
from reel.touches.patches import BEGIN
from reel.touches.tools import KNOWN, Tool, tool_named
from reel.touches.touch import Touch


def touches(
    call: Mapping[str, Any], result: Mapping[str, Any] | None = None, tools: Mapping[str, Tool] = KNOWN
) -> list[Touch]:
    """Return what a call did: empty for an unknown tool, and for one that did nothing.

    A read or a change that failed did nothing; a command that failed was run, unless it was denied. Without a result,
    the call counts as carried out, with no exit status.

    Args:
        call: a block of the type ``tool_call``.
        result: the block of the type ``tool_result`` that answers it.
        tools: the tools by their names; see :data:`reel.touches.tools.KNOWN`.
    """
    tool = tool_named(str(call.get("name", "")), tools)
    arguments = None if tool is None else _arguments(call.get("arguments"))
    if tool is None or arguments is None:
        return []
    outcome = outcome_of(result, marks_failures=tool.marks_failures(arguments))
    kept = {"read": not outcome.failed, "wrote": not outcome.refused, "ran": not outcome.denied}
    return [_ended(touch, outcome.status) for touch in tool.read(arguments) if kept[touch.deed]]


def _ended(touch: Touch, status: int | None) -> Touch:
    return replace(touch, status=status) if touch.deed == "ran" else touch


def _arguments(given: Any) -> Mapping[str, Any] | None:
    """Return the arguments of a call, which may be a patch alone; ``None`` if they are damaged."""
    if not isinstance(given, str):
        return given if isinstance(given, Mapping) else None
    if given.lstrip().startswith(BEGIN):
        return {"input": given}
    try:
        arguments = parse(given)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, Mapping) else None
