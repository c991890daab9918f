"""Moves a foreign message between a call and its result after the result.

Most providers refuse a request in which anything is between the two. A client that adds a message while a tool runs
does not know that.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

M = TypeVar("M")


def results_first(
    messages: Sequence[M],
    calls: Callable[[M], Collection[str]],
    results: Callable[[M], Collection[str]],
    is_prompt: Callable[[M], bool],
    added: Collection[int],
) -> list[M]:
    """Return messages; move foreign messages between a call and its result after the result.

    Nothing else is moved. If a call has no result, or the next prompt comes before its result, the messages after the
    call stay in place.

    Args:
        messages: the messages, in their order.
        calls: returns the ids of the calls in a message.
        results: returns the ids of the calls that a message answers.
        is_prompt: returns whether a message is the user's.
        added: the indexes of the foreign messages.
    """
    if not added:
        return list(messages)
    answered = set(_all(results(message) for message in messages))
    ordered: list[M] = []
    waiting: list[M] = []
    is_open: set[str] = set()
    for place, message in enumerate(messages):
        found = is_open.intersection(results(message))
        if is_open and not found and place in added:
            waiting.append(message)
            continue
        made = answered.intersection(calls(message))
        if not found and is_prompt(message):
            is_open.clear()
        if not is_open:
            ordered += waiting
            waiting = []
        ordered.append(message)
        is_open = (is_open - found) | made
        if not is_open:
            ordered += waiting
            waiting = []
    return ordered + waiting


def _all(ids: Iterable[Collection[str]]) -> Iterable[str]:
    return (each for some in ids for each in some)
