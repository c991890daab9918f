"""The state of a conversation of the OpenHands SDK as values beside the conversation, and back.

The framework writes its whole state after each event. Here, each field is a value of its own, and only what has changed
is written. The statistics have a list of each call of the model, so these lists are in blocks.
"""

import json
from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, Final

Json = dict[str, Any]

# What begins the keys of the values.
OWN: Final = "openhands:"
# The field that has the head of the tree of events. The newest event has it, unless somebody went back.
LEAF: Final = "leaf_event_id"
_STATS: Final = "stats"
_METRICS: Final = "usage_to_metrics"
# How many elements of a list are in one value: few, as each new element writes its block again.
_BLOCK: Final = 20


def values_of(state: Json) -> Json:
    """Return the values of a state by their keys."""
    return {f"{OWN}{key}": value for key, value in _pieces(state)}


def _pieces(state: Json) -> Iterator[tuple[str, Any]]:
    for field, value in state.items():
        metrics = value.get(_METRICS) if field == _STATS and isinstance(value, dict) else None
        if not isinstance(metrics, dict):
            yield field, value
            continue
        short = {name: {key: _short(inner) for key, inner in each.items()} for name, each in metrics.items()}
        yield field, {**value, _METRICS: short}
        for name, each in metrics.items():
            for key, inner in each.items():
                for number in range(0, len(inner) if isinstance(inner, list) else 0, _BLOCK):
                    yield _block(name, key, number), inner[number : number + _BLOCK]


def _short(value: Any) -> Any:
    return [] if isinstance(value, list) else value


def _block(name: str, key: str, number: int) -> str:
    return f"{_STATS}:{json.dumps([name, key, number])}"


def state_of(values: Mapping[str, Any]) -> Json:
    """Return the state made of these values, whose keys all begin with :data:`OWN`; an empty map without values."""
    state: Json = {}
    blocks: list[tuple[list[Any], Any]] = []
    for key, value in values.items():
        field = key.removeprefix(OWN)
        if field.startswith(f"{_STATS}:"):
            blocks.append((json.loads(field.removeprefix(f"{_STATS}:")), value))
        else:
            state[field] = value
    for (name, key, _), value in sorted(blocks, key=itemgetter(0)):
        metrics = state.get(_STATS, {}).get(_METRICS, {})
        if name in metrics:
            metrics[name] = {**metrics[name], key: [*metrics[name].get(key, ()), *value]}
    return state
