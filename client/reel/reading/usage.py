"""How many tokens responses used, in groups."""

from __future__ import annotations

import json
import time

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.attribution import answer_in
from reel.reading.tokens import Tokens, difference, replaced_by, tokens_in, total

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from reel.replies import AgentInfo, AgentRow
    from reel.said.messages import Event

# The group of responses without a model, or of agents without the tag.
NONE = "(none)"


class Sum(NamedTuple):
    """The responses of a group, and their tokens."""

    responses: int = 0
    tokens: Tokens = Tokens()

    def plus(self, counted: Counted) -> Sum:
        """Return the sum with another response, or with what a later count of a response adds."""
        return Sum(self.responses + counted.responses, total((self.tokens, counted.tokens)))

    @property
    def columns(self) -> tuple[int, int, int, int, int, int]:
        """The numbers in the order of the table."""
        read, written, cached, reasoning, cache_writes = self.tokens
        return self.responses, read, cached, cache_writes, written, reasoning


# The names of these numbers.
COLUMNS = ("responses", "in", "cached", "cache_writes", "out", "reasoning")


class Counted(NamedTuple):
    """What an event counts.

    Args:
        group: its group.
        model: its model.
        tokens: its tokens.
        responses: 1, or 0 for a later count of a response, whose tokens are what it adds.
    """

    group: str
    model: str
    tokens: Tokens
    responses: int = 1


def whole(sums: Iterable[Sum]) -> Sum:
    """Return the sum of several groups."""
    entries = list(sums)
    return Sum(sum(entry.responses for entry in entries), total(entry.tokens for entry in entries))


class Usage:
    """Adds up the responses of agents, page by page.

    Args:
        by: ``model``, ``day``, ``tag:KEY``, or nothing for one group.
    """

    def __init__(self, by: str) -> None:
        self.sums: dict[str, Sum] = {}
        # The same by group and model.
        self.models: dict[str, dict[str, Sum]] = {}
        self._by = by
        self._tags: dict[str, str] = {}
        # The answers of the command that is read which have their tokens; its place, and whether it counts them itself.
        self._answers: list[Event] = []
        self._command: tuple[str, int] | None = None
        self._is_counted = False
        # The answers that were counted: a framework may store one again, behind another one that was replaced.
        self._known: set[tuple[str, str]] = set()

    def add_agents(self, agents: Iterable[AgentRow | AgentInfo]) -> None:
        """Take the agents whose events come next."""
        key = self._by.removeprefix("tag:")
        self._tags = {agent.id: agent.tags.get(key, NONE) for agent in agents}

    def add(self, events: Iterable[Event]) -> None:
        """Take the ``usage`` events of a page, and the answers in which their tokens may be; :meth:`end` comes last."""
        for event in events:
            if (event["agent"], event["command"]) != self._command:
                self.end()
                self._command = event["agent"], event["command"]
            if event["kind"] == "usage":
                self._is_counted = True
                self._count(responses(event, self._by, self._tags[event["agent"]]))
            else:
                self._answers.append(event)

    def end(self) -> None:
        """Count the answers of the last command, unless it counts its responses in events of their own."""
        for event in () if self._is_counted else self._answers:
            answer = answer_in(event)
            if answer is not None and (event["agent"], answer.mark) not in self._known:
                self._known |= {(event["agent"], answer.mark)} if answer.mark else set()
                data = {"model": answer.model}
                group = _group(event, data, self._by, self._tags[event["agent"]])
                self._count([Counted(group, _model(data), answer.tokens)])
        self._answers, self._command, self._is_counted = [], None, False

    def _count(self, found: Iterable[Counted]) -> None:
        for counted in found:
            models = self.models.setdefault(counted.group, {})
            for sums, key in ((self.sums, counted.group), (models, counted.model)):
                sums[key] = sums.get(key, Sum()).plus(counted)


def responses(event: Event, by: str, tag: str) -> Iterator[Counted]:
    """Yield the response that an event counts, unless it counts nothing.

    Args:
        event: a ``usage`` event.
        by: ``model``, ``day``, ``tag:KEY``, or nothing for one group.
        tag: the group for a tag.
    """
    try:
        data = json.loads(event["data_json"] or "{}")
    except (ValueError, RecursionError):  # anybody may add such an event
        return
    if tokens := tokens_in(data):
        earlier = replaced_by(data)
        group = _group(event, data, by, tag)
        yield Counted(group, _model(data), difference(tokens, earlier), responses=0 if earlier else 1)


def _model(data: dict[str, Any]) -> str:
    model = data.get("model")
    return model if isinstance(model, str) and model else NONE


def _group(event: Event, data: dict[str, Any], by: str, tag: str) -> str:
    if by == "model":
        return _model(data)
    if by == "day":
        return time.strftime("%Y-%m-%d", time.localtime(event.get("sent", event["time"]) / 1000))
    return tag if by else "all"
