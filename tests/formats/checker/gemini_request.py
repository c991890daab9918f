"""How Gemini's API reads a body: both spellings of a key, one for a list of one, neighbours of one role merged."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.formats.checker.problem import Fault, Json, careless, key_faults, shape_of

DATA = frozenset(
    {
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    }
)
TOP = shape_of(
    "contents! systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels store model "
    "serviceTier continuationToken"
)
CONTENT = shape_of("parts role")
PART = shape_of(
    " ".join(DATA) + " thought thoughtSignature videoMetadata partMetadata mediaResolution audioTranscription "
    "mediaProcessing speechMetadata documentMetadata spreadsheetMetadata audioMetadata"
)
MEMBERS = {
    "inlineData": shape_of("data! mimeType! displayName"),
    "fileData": shape_of("fileUri! mimeType displayName"),
    "functionCall": shape_of("name id args partialArgs willContinue"),
    "functionResponse": shape_of("name id response parts willContinue scheduling"),
    "executableCode": shape_of("code! language id"),
    "codeExecutionResult": shape_of("outcome output id"),
    "toolCall": shape_of("toolType args id"),
    "toolResponse": shape_of("toolType response id"),
}
# Protobuf structures: objects and nothing else, with keys that are nobody's business.
STRUCTURES = ("args", "response")
Part = tuple[str, Json]


class Turn(NamedTuple):
    """Neighbouring contents of one role, merged."""

    role: str
    where: str
    parts: list[Part]

    def calls(self) -> list[Part]:
        """Return the calls."""
        return self.members("functionCall")

    def responses(self) -> list[Part]:
        """Return the responses."""
        return self.members("functionResponse")

    def members(self, key: str) -> list[Part]:
        """Return what the parts have under a key."""
        return [(where, camel(part[key])) for where, part in self.parts if isinstance(part.get(key), dict)]


class Request:
    """A body and the model that it goes to."""

    def __init__(self, body: Json, model: str | None) -> None:
        self.body = camel(body)
        self.model = model
        self.contents = listed(self.body.get("contents"), "contents")
        instruction = self.body.get("systemInstruction")
        self.system = listed(instruction.get("parts"), "system") if isinstance(instruction, dict) else []
        self.tools = listed(self.body.get("tools"), "tools")
        self.turns: list[Turn] = []
        for where, content in self.contents:
            role = "model" if content.get("role") == "model" else "user"
            if not self.turns or self.turns[-1].role != role:
                self.turns.append(Turn(role, where, []))
            self.turns[-1].parts.extend(listed(content.get("parts"), f"{where}.parts"))

    def parts(self) -> list[Part]:
        """Return every part of every turn."""
        return [pair for turn in self.turns for pair in turn.parts]

    def neighbours(self) -> Iterator[tuple[Turn | None, Turn]]:
        """Return each turn with the one before it."""
        yield from zip([None, *self.turns], self.turns, strict=False)

    def exchanges(self) -> Iterator[tuple[Turn, Turn | None]]:
        """Return each of the model's turns with the user's after it."""
        for turn, after in zip(self.turns, [*self.turns[1:], None], strict=False):
            if turn.role == "model":
                yield turn, after

    def pairs(self) -> Iterator[tuple[str, Json, Json]]:
        """Return each response with its call: by id, or by position where there are no ids."""
        for turn, after in self.exchanges():
            calls, responses = turn.calls(), after.responses() if after else []
            by_id = {call["id"]: call for _, call in calls if isinstance(call.get("id"), str)}
            for index, (where, response) in enumerate(responses):
                call = by_id.get(str(response.get("id"))) or (calls[index][1] if index < len(calls) else None)
                if call is not None:
                    yield where, call, response


def camel(found: Json) -> Json:
    """Return an object with its own keys in camel case."""
    return {re.sub(r"(?<=[a-z])_([a-z])", lambda match: match[1].upper(), key): value for key, value in found.items()}


def listed(value: Any, where: str) -> list[Part]:
    """Return the objects of a list, or a single object in place of a list."""
    entries = value if isinstance(value, list) else [value]
    return [(f"{where}[{index}]", camel(entry)) for index, entry in enumerate(entries) if isinstance(entry, dict)]


def body_faults(body: Json) -> Iterator[Fault]:
    """Check the body, the system instruction and each content."""
    yield from key_faults("body", body, TOP)
    yield from list_faults("contents", body.get("contents", []))
    instruction = body.get("systemInstruction")
    if isinstance(instruction, dict):
        yield from content_faults("systemInstruction", camel(instruction))
    elif instruction is not None:
        yield Fault("systemInstruction", "not an object")
    for where, content in listed(body.get("contents"), "contents"):
        yield from content_faults(where, content)


def list_faults(where: str, value: Any) -> Iterator[Fault]:
    """Check what should be a list of objects; one object alone is careless."""
    if isinstance(value, dict):
        yield careless(where, "an object where a list belongs")
    elif not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        yield Fault(where, "not a list of objects")


def content_faults(where: str, content: Json) -> Iterator[Fault]:
    """Check one content and its parts."""
    yield from key_faults(where, content, CONTENT)
    yield from list_faults(f"{where}.parts", content.get("parts") or [])
    for place, part in listed(content.get("parts"), f"{where}.parts"):
        yield from key_faults(place, part, PART)
        if not isinstance(part.get("text", ""), str):
            yield Fault(f"{place}.text", "not a string")
        for key in MEMBERS.keys() & part.keys():
            yield from member_faults(f"{place}.{key}", key, part[key])


def member_faults(where: str, key: str, member: Any) -> Iterator[Fault]:
    """Check the data of a part."""
    if not isinstance(member, dict):
        yield Fault(where, "not an object")
        return
    spelt = camel(member)
    yield from key_faults(where, spelt, MEMBERS[key])
    for name in STRUCTURES:
        if not isinstance(spelt.get(name) or {}, dict) or spelt.get(name) == []:
            yield Fault(f"{where}.{name}", "not an object")
