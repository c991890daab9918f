"""A whole request to Gemini's API, read into the messages of a conversation."""

from itertools import groupby
from typing import Any

from reeld.formats.gemini.content import block_of, camel, listed, part_at, result_of
from reeld.formats.gemini.parts import PROVIDER
from reeld.formats.prompting import prompt_of
from reeld.formats.reading import Json, Loaded, left_to_extra, map_at, refused, text_at
from reeld.formats.report import Change


def load(body: Json, model: str | None = None) -> Loaded:
    """Read a request body.

    Args:
        body: the whole object, with its ``contents``.
        model: who said what the model says; the body has no place for it.

    Raises:
        InvalidMessage: something in it is no message; ``data.field`` is the place.
    """
    body = camel(body)
    contents = listed(body.get("contents"))
    if not contents:
        raise refused("contents", "is missing or empty; there is nothing to load")
    made_by = model or body.get("model")
    reader = _Reader(made_by if isinstance(made_by, str) else None)
    loaded = [message for index, found in enumerate(contents) for message in reader.content(found, index)]
    beside = left_to_extra(body, ("contents", "systemInstruction", "model"))
    return Loaded([*_prompt(body.get("systemInstruction")), *loaded], [*reader.report, *beside])


def _prompt(instruction: Any) -> list[Json]:
    if not instruction:
        return []
    parts: list[Any] = [{"text": instruction}]
    if not isinstance(instruction, str):
        parts = listed(map_at(instruction, "systemInstruction").get("parts"))
    content = []
    for index, part in enumerate(parts):
        where = f"systemInstruction.parts[{index}]"
        content.append({"type": "text", "text": text_at(map_at(part, where).get("text"), f"{where}.text")})
    metadata = {"provider": PROVIDER, "role": "system"}
    leading = [{"role": "user", "content": content, "provider_metadata": metadata}]
    return prompt_of(PROVIDER, leading) if content else []


class _Reader:
    """Reads one content after the other; it knows the calls that have no id, in their order."""

    def __init__(self, model: str | None) -> None:
        self.report: list[Change] = []
        self._model = model
        self._nameless: list[tuple[str, str]] = []

    def content(self, value: Any, index: int) -> list[Json]:
        """Read the content at an index: of the user's, responses become messages of the tool's."""
        where = f"contents[{index}]"
        found = camel(map_at(value, where))
        role = found.get("role") or "user"
        if role not in ("user", "model", "function"):
            raise refused(f"{where}.role", f"{role!r} is no role of Gemini's")
        blocks = [
            self._block(part_at(part, f"{where}.parts[{number}]"), f"{where}.parts[{number}]", index, number, role)
            for number, part in enumerate(listed(found.get("parts")))
        ]
        if role == "model":
            return [{"role": "assistant", "content": blocks or [{"type": "text", "text": ""}]}]
        runs = groupby(blocks, key=lambda block: "tool" if block["type"] == "tool_result" else "user")
        return [{"role": who, "content": list(run)} for who, run in runs]

    def _block(self, part: Json, where: str, index: int, number: int, role: str) -> Json:
        if "functionResponse" in part:
            return result_of(part, where, self._answered(part["functionResponse"], where))
        block = block_of(part, where, f"call_{index}_{number}", self._model if role == "model" else None)
        if block["type"] == "tool_call" and not part["functionCall"].get("id"):
            self._nameless.append((block["id"], block["name"]))
            why = f"{where}.functionCall has no id; it is now the call {block['id']}"
            self.report.append(Change(None, None, "synthesized", why))
        return block

    def _answered(self, response: Any, where: str) -> str:
        """Give the id of the call that a response answers: its own, or the oldest of its name that has none."""
        found = map_at(response, f"{where}.functionResponse")
        if found.get("id"):
            return text_at(found["id"], f"{where}.functionResponse.id")
        waiting = [place for place, (_, name) in enumerate(self._nameless) if name == found.get("name")]
        if not self._nameless:
            return where
        return self._nameless.pop(waiting[0] if waiting else 0)[0]
