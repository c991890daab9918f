"""Reads what one call did, from its block and from that of its result."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import parse
from reel.base.values import clean_deep
from reel.touches.outcomes import outcome_of
from reel.touches.patches import BEGIN
from reel.touches.tools import KNOWN, Tool, tool_named
from reel.touches.touch import Touch


class Meant(NamedTuple):
    """What a call does if it succeeds, and whether its tool marks each command that failed."""

    touches: list[Touch]
    marks_failures: bool = False


def meant(call: Mapping[str, Any], tools: Mapping[str, Tool] = KNOWN) -> Meant:
    """Return what a call does if it succeeds, whatever became of it; empty for an unknown tool.

    Args:
        call: a block of the type ``tool_call``.
        tools: the tools by their names; see :data:`reel.touches.tools.KNOWN`.
    """
    tool = tool_named(str(call.get("name", "")), tools)
    arguments = None if tool is None else _arguments(call.get("arguments"))
    if tool is None or arguments is None:
        return Meant([])
    return Meant(list(tool.read(arguments)), tool.marks_failures(arguments))


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
    wanted = meant(call, tools)
    outcome = outcome_of(result, marks_failures=wanted.marks_failures)
    return [
        replace(touch, status=outcome.status) if touch.deed == "ran" else touch
        for touch in wanted.touches
        if outcome.did(touch.deed)
    ]


def _arguments(given: Any) -> Mapping[str, Any] | None:
    """Return the arguments of a call, which may be a patch alone; ``None`` if they are damaged."""
    if not isinstance(given, str):
        return given if isinstance(given, Mapping) else None
    if given.lstrip().startswith(BEGIN):
        return {"input": given}
    try:
        arguments = parse(given)
        if "\\u" in given:  # an escape may be of NUL, or of half a character
            arguments, _ = clean_deep(arguments)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, Mapping) else None
