"""A step of the model in the log of Kimi Code: it is written event by event, and becomes an answer with its results."""

from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.tools.kimi_code.parts import left_out_of, parts_in
from reel.importing.values import map_in, other_fields, text_in

_PLACE = frozenset({"type", "uuid", "turnId", "step", "stepUuid"})
_END = _PLACE | {
    *("usage", "finishReason", "providerFinishReason", "rawFinishReason", "messageId", "llmFirstTokenLatencyMs"),
    *("llmStreamDurationMs", "llmRequestBuildMs", "llmServerFirstTokenMs", "llmServerDecodeMs", "llmClientConsumeMs"),
}
# What the program shows of a call is in its arguments as well.
_CALL = _PLACE | {"toolCallId", "name", "args", "extras", "description", "display"}
_RESULT = _PLACE | {"toolCallId", "parentUuid", "result"}
_OUTPUT = frozenset({"output", "isError", "note"})


class Answer:
    """A step that is being read.

    Args:
        step: its id.
        sent: its time.
        line: its first line.
    """

    def __init__(self, step: str, sent: int | None, line: int) -> None:
        self.step, self.sent, self.line = step, sent, line
        self.blocks: list[Json] = []
        # The calls without a result, and the results: the call, the block, the time and the line of each.
        self.calls: set[str] = set()
        self.results: list[tuple[str, Json, int | None, int]] = []


class Event(NamedTuple):
    """What happened in a step.

    Args:
        left_out: the fields that are not used.
        step: the step; empty if the event does not name it.
        part: a part of what was said.
        call: a call.
        result: the result of a call.
        answered: the id of that call.
        ends: whether the step has ended.
    """

    left_out: list[str]
    step: str = ""
    part: Any = None
    call: Json | None = None
    result: Json | None = None
    answered: str = ""
    ends: bool = False


def read_event(found: Json) -> Event | None:
    """Return what an event says; ``None`` if it is of an unknown kind, or says nothing."""
    kind, step = text_in(found, "type"), text_in(found, "stepUuid")
    match kind:
        case "step.begin":
            return Event(other_fields(found, _PLACE, f"{kind}."), text_in(found, "uuid"))
        case "step.end":
            return Event(other_fields(found, _END, f"{kind}."), ends=True)
        case "content.part" if found.get("part"):
            left_out = [*other_fields(found, {*_PLACE, "part"}, f"{kind}."), *left_out_of([found["part"]])]
            return Event(left_out, step, part=found["part"])
        case "tool.call" if text_in(found, "toolCallId") and text_in(found, "name"):
            return Event(other_fields(found, _CALL, f"{kind}."), step, call=found)
        case "tool.result" if "output" in map_in(found, "result"):
            result = found["result"]
            left_out = [*other_fields(found, _RESULT, f"{kind}."), *other_fields(result, _OUTPUT, f"{kind}.result.")]
            left_out += left_out_of(parts_in(result["output"]))
            return Event(left_out, result=result, answered=text_in(found, "toolCallId"))
    return None
