"""The items of OpenAI's Agents SDK, in an order in which any model can be sent them.

Responses takes a message between a call and its result. The other models that the SDK can use do not.
"""

import json
from collections.abc import Callable
from typing import Any

from reel.integrations.results_first import results_first


def between(items: list[Any]) -> list[int]:
    """Return the places of the messages that are between a call and its result."""
    ends = {of: place for place, item in enumerate(items) for of in _results(item)}
    places: list[int] = []
    is_open: set[str] = set()
    for place, item in enumerate(items):
        if "call_id" in item:
            is_open.difference_update(_results(item))
            is_open.update(of for of in _calls(item) if ends.get(of, 0) > place)
        elif is_open and "role" in item:
            places.append(place)
    return places


def arranged(items: list[Any], is_added: Callable[[int], bool]) -> list[Any]:
    """Return items, and what somebody else added between a call and its result behind the result.

    Args:
        items: the items.
        is_added: whether somebody else added the message at a place.
    """
    added = [place for place in between(items) if is_added(place)]
    return results_first(items, _calls, _results, lambda item: item.get("role") == "user", added)


def readable(item: Any) -> Any:
    """Return an item, or if its type is none, its words: the SDK would fail at each run."""
    if type(item.get("type")) not in (dict, list):
        return item
    return {"role": "user", "content": json.dumps(item, ensure_ascii=False)}


def _calls(item: Any) -> list[str]:
    return [] if _is_result(item) or type(item.get("call_id")) is not str else [item["call_id"]]


def _results(item: Any) -> list[str]:
    return [item["call_id"]] if _is_result(item) and type(item.get("call_id")) is str else []


def _is_result(item: Any) -> bool:
    kind = item.get("type")
    return type(kind) is str and kind.endswith("_output")
