"""How the Interactions API reads a body: its steps, and the turns that they form."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.formats.checker.problem import Fault, Json, careless, key_faults, objects, shape_of, shapes

TOP = shape_of(
    "input! model agent agent_config background cached_content environment generation_config labels response_format "
    "response_mime_type response_modalities safety_settings service_tier store stream system_instruction tools "
    "webhook_config"
)
CONTENTS = shapes(
    {
        "text": "text! annotations",
        "image": "data mime_type resolution uri",
        "document": "data mime_type processing resolution uri",
        "audio": "channels data mime_type processing sample_rate uri",
        "video": "data mime_type name processing resolution uri",
    }
)
STEPS = shapes(
    {
        "user_input": "content",
        "model_output": "content error",
        "thought": "signature summary",
        "function_call": "arguments! id! name!",
        "function_result": "call_id! result! is_error name",
        "code_execution_call": "arguments! id! signature",
        "code_execution_result": "call_id! result! is_error signature",
        "file_search_call": "id! signature",
        "file_search_result": "call_id! signature",
        "google_maps_call": "id! arguments signature",
        "google_maps_result": "call_id! result! signature",
        "google_search_call": "arguments! id! search_type signature",
        "google_search_result": "call_id! result! is_error signature",
        "mcp_server_tool_call": "arguments! id! name! server_name!",
        "mcp_server_tool_result": "call_id! result! name server_name",
        "processing_call": "id! signature",
        "processing_result": "call_id! signature",
        "retrieval_call": "arguments! id! retrieval_type signature",
        "retrieval_result": "call_id! is_error signature",
        "tool_search_call": "arguments! id! signature",
        "tool_search_result": "call_id! result signature",
        "url_context_call": "arguments! id! signature",
        "url_context_result": "call_id! result! is_error signature",
    }
)
SENT_BY_USER = ("user_input", "function_result")
MEDIA = frozenset(CONTENTS) - {"text"}
Step = tuple[str, Json]


class Turn(NamedTuple):
    """Neighbouring steps of the model's, or of the user's: what the user says, and the results of calls."""

    of_model: bool
    steps: list[Step]

    def calls(self) -> list[Step]:
        """Return the calls of functions."""
        return [(where, step) for where, step in self.steps if step.get("type") == "function_call"]

    def results(self) -> list[Step]:
        """Return the results of functions."""
        return [(where, step) for where, step in self.steps if step.get("type") == "function_result"]


class Request:
    """A body and the model that it goes to."""

    def __init__(self, body: Json, model: str | None) -> None:
        self.body = body
        self.model = model
        given = body.get("input")
        # A text, and contents alone, are what the user says.
        said = isinstance(given, str) or (isinstance(given, dict) and is_content(given))
        self.steps = (
            [("input", {"type": "user_input"})] if said else [step_of(*pair) for pair in objects(given, "input")]
        )
        self.turns: list[Turn] = []
        for where, step in self.steps:
            of_model = step.get("type") not in SENT_BY_USER
            if not self.turns or self.turns[-1].of_model != of_model:
                self.turns.append(Turn(of_model, []))
            self.turns[-1].steps.append((where, step))

    def exchanges(self) -> Iterator[tuple[Turn | None, Turn]]:
        """Return each turn of the user's with the turn of the model's before it; also an empty one after the last."""
        before: Turn | None = None
        for turn in self.turns:
            if not turn.of_model:
                yield before, turn
            before = turn
        if before is not None and before.of_model:
            yield before, Turn(of_model=False, steps=[])

    def contents(self) -> Iterator[Step]:
        """Return every content of every step, with its place."""
        for where, step in self.steps:
            for key in ("content", "summary", "result"):
                if step.get("type") != "google_search_result" and key in step:
                    yield from objects(step[key], f"{where}.{key}")


def is_content(found: Json) -> bool:
    """Whether an object is a content, not a step."""
    return str(found.get("type")) in CONTENTS


def step_of(where: str, found: Json) -> Step:
    """Return a step; a content alone is what the user says."""
    return (where, {"type": "user_input", "content": [found]}) if is_content(found) else (where, found)


def body_faults(body: Json) -> Iterator[Fault]:
    """Check the body, and each step with its contents."""
    yield from key_faults("body", body, TOP)
    if not isinstance(body.get("system_instruction", ""), str):
        yield Fault("system_instruction", "not a string")
    given = body.get("input", [])
    if isinstance(given, str | dict):
        yield careless("input", "not a list of steps")
    elif not isinstance(given, list) or not all(isinstance(step, dict) for step in given):
        yield Fault("input", "not a list of steps")
    for where, found in objects(given, "input"):
        if is_content(found):
            yield careless(where, "a content where a step belongs")
        yield from step_faults(*step_of(where, found))


def step_faults(where: str, step: Json) -> Iterator[Fault]:
    """Check one step."""
    kind = step.get("type")
    if not isinstance(kind, str) or kind not in STEPS:
        yield Fault(where, f"{kind!r} is not the type of a step")
        return
    yield from key_faults(where, step, STEPS[kind])
    if not isinstance(step.get("arguments", {}), dict):
        yield Fault(f"{where}.arguments", "not an object")
    for key in ("id", "call_id", "name", "server_name", "signature"):
        if not isinstance(step.get(key, ""), str):
            yield Fault(f"{where}.{key}", "not a string")
    if not isinstance(step.get("result", ""), str | list | dict):
        yield Fault(f"{where}.result", "not a text, a list or an object")
    for key in ("content", "summary"):
        yield from contents_faults(f"{where}.{key}", step.get(key, []))
    if kind == "function_result" and isinstance(step.get("result"), list):
        yield from contents_faults(f"{where}.result", step["result"])


def contents_faults(where: str, value: Any) -> Iterator[Fault]:
    """Check a list of contents."""
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        yield Fault(where, "not a list of objects")
    for place, part in objects(value, where):
        kind = part.get("type")
        if not isinstance(kind, str) or kind not in CONTENTS:
            yield Fault(place, f"{kind!r} is not the type of a content")
            continue
        yield from key_faults(place, part, CONTENTS[kind])
        if not isinstance(part.get("text", ""), str):
            yield Fault(f"{place}.text", "not a string")
        if kind in MEDIA and ("data" in part) == ("uri" in part):
            yield Fault(place, "either data or an address")
