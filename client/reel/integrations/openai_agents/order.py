"""Arranges the items of OpenAI's Agents SDK in an order that every model accepts.

The Responses API accepts a message between a call and its result. The other models that the SDK can use do not.
"""

import json
from collections.abc import Callable, Collection
from typing import Any

from reel.integrations.results_first import results_first

_CONTAINERS = frozenset({dict, list})


def between(items: list[Any]) -> list[int]:
    """Return the indexes of the messages between a call and its result."""
    # Items that are neither are checked only if a call is open.
    either = [(place, item["call_id"], _is_result(item)) for place, item in enumerate(items) if _has_id(item)]
    ends = {of: place for place, of, is_result in either if is_result}
    places: list[int] = []
    is_open: set[str] = set()
    before = 0
    for place, of, is_result in either:
        if is_open and place > before + 1:
            places += [inside for inside in range(before + 1, place) if "role" in items[inside]]
        before = place
        if is_result:
            is_open.discard(of)
        elif ends.get(of, 0) > place:
            is_open.add(of)
    return places


def arranged(items: list[Any], added_of: Callable[[list[int]], Collection[int]]) -> list[Any]:
    """Return items; move foreign messages between a call and its result after the result.

    Args:
        items: the items.
        added_of: returns those of some indexes whose messages another client added.
    """
    added = added_of(between(items))
    return results_first(items, _calls, _results, lambda item: item.get("role") == "user", added)


def readable(items: list[Any]) -> list[Any]:
    """Return items; one whose type is a list or a map, on which every run of the SDK would fail, becomes a text."""
    return [
        {"role": "user", "content": json.dumps(item, ensure_ascii=False)}
        if type(item.get("type")) in _CONTAINERS
        else item
        for item in items
    ]


def _has_id(item: Any) -> bool:
    return "call_id" in item and type(item["call_id"]) is str


def _is_result(item: Any) -> bool:
    kind = item.get("type")
    return type(kind) is str and kind.endswith("_output")


def _calls(item: Any) -> list[str]:
    return [item["call_id"]] if _has_id(item) and not _is_result(item) else []


def _results(item: Any) -> list[str]:
    return [item["call_id"]] if _has_id(item) and _is_result(item) else []
