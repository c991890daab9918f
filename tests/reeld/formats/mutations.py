"""Requests as other clients might write them: a body with a few random changes."""

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from tests.formats.test_checker import HISTORY

Json = dict[str, Any]
Path = tuple[str | int, ...]
PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction")
IDS = ("id", "tool_use_id", "call_id", "tool_call_id", "name")
SYSTEM: Json = {"role": "system", "content": "Be brief"}


class Body:
    """A body to change: its history and its prompt."""

    def __init__(self, provider: str, body: Json, chance: random.Random) -> None:
        self.body = deepcopy(body)
        self.chance = chance
        self.history = HISTORY[provider]
        self.system = {"role": "system", "parts": [{"text": "Be brief"}]} if provider == "gemini" else SYSTEM

    def at(self, path: Path) -> Any:
        found: Any = self.body
        for step in path:
            found = found[step]
        return found

    def put(self, path: Path, value: Any) -> None:
        self.at(path[:-1])[path[-1]] = value

    def paths(self, wanted: Callable[[Path, Any], bool]) -> list[Path]:
        """Return the places that match."""
        shown = {key: value for key, value in self.body.items() if key in (self.history, *PROMPTS)}
        return [path for path, value in places(shown) if path and wanted(path, value)]

    def one(self, wanted: Callable[[Path, Any], bool] = lambda _path, _value: True) -> Path | None:
        """Choose a place."""
        found = self.paths(wanted)
        return self.chance.choice(found) if found else None


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Return every place inside a value."""
    yield path, value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from places(inner, (*path, key))


def another_value(body: Body) -> None:
    """Replace a value by null, a number, an empty text or an object."""
    if (path := body.one()) is not None:
        values: list[Any] = [None, 1, 1.5, 10**30, True, "word", "", {}, [], nested(13), nested(150)]
        body.put(path, body.chance.choice(values))


def nested(depth: int) -> Json:
    """Return nested objects."""
    found: Json = {}
    for _ in range(depth):
        found = {"a": found}
    return found


def without(body: Body) -> None:
    """Remove a key, or an element of a list."""
    if (path := body.one()) is not None:
        del body.at(path[:-1])[path[-1]]


def bare(body: Body) -> None:
    """Replace a list by its first element."""
    if (path := body.one(lambda _path, value: isinstance(value, list) and bool(value))) is not None:
        body.put(path, body.at(path)[0])


def listed(body: Body) -> None:
    """Put a value into a list."""
    if (path := body.one()) is not None:
        body.put(path, [body.at(path)])


def another_key(body: Body) -> None:
    """Add an unknown key."""
    if (path := body.one(lambda _path, value: isinstance(value, dict))) is not None:
        keys = ("x_extra", "cache_control", "index", "status", "annotations", "thought", "refusal")
        body.at(path)[body.chance.choice(keys)] = body.chance.choice([None, 1, "x", {}, [], {"a": [1]}, True])


def another_type(body: Body) -> None:
    """Change the type of a block or an item."""
    if (path := body.one(lambda _path, value: isinstance(value, dict) and "type" in value)) is not None:
        kinds: tuple[Any, ...] = (
            "text",
            "tool_use",
            "tool_result",
            "message",
            "input_text",
            "output_text",
            "reasoning",
            [],
            {},
        )
        body.at(path)["type"] = body.chance.choice(kinds)


def real_numbers(body: Body) -> None:
    """Write integers as floats."""
    for path in body.paths(lambda _path, value: type(value) is int):
        body.put(path, float(body.at(path)))


def another_id(body: Body) -> None:
    """Replace an id or a name, wherever it occurs, by one that is huge, empty, or has unusual characters."""
    if (path := body.one(lambda path, value: path[-1] in IDS and isinstance(value, str))) is not None:
        given = body.at(path)
        sent = body.chance.choice(["i" * 300, "a b", "ü", "x" * 2000, "", "a\ud800"])
        for other in body.paths(lambda path, value: path[-1] in IDS and value == given):
            body.put(other, sent)


def another_order(body: Body) -> None:
    """Swap two items of the history, repeat one, or insert a system message."""
    entries = body.body[body.history]
    if isinstance(entries, list) and entries:
        one, other = (body.chance.randrange(len(entries)) for _ in range(2))
        match body.chance.choice(["swapped", "twice", "system"]):
            case "swapped":
                entries[one], entries[other] = entries[other], entries[one]
            case "twice":
                entries.insert(other, deepcopy(entries[one]))
            case _:
                entries.insert(other, deepcopy(body.system))


def other_spelling(body: Body) -> None:
    """Write a key in the other spelling."""
    for path in body.paths(lambda _path, value: isinstance(value, dict)):
        found = body.at(path)
        known = {"functionCall": "function_call", "functionResponse": "function_response", "inlineData": "inline_data"}
        for key, spelt in known.items():
            if key in found:
                found[spelt] = found.pop(key)
                return


MUTATIONS = (
    another_value,
    without,
    bare,
    listed,
    another_key,
    another_type,
    real_numbers,
    another_id,
    another_order,
    other_spelling,
)


def mutant(provider: str, body: Json, seed: str) -> Json:
    """Return a body as another client might have written it; the same seed gives the same body."""
    chance = random.Random(seed)
    found = Body(provider, body, chance)
    for mutation in chance.choices(MUTATIONS, k=chance.choice([1, 1, 2, 3])):
        if found.body.get(found.history):
            mutation(found)
    return found.body
