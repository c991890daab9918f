"""Sends the commands of several small conversations as one, so that they are one commit.

A history may have thousands of sessions of a turn or two. Sent one by one, each takes two commits: one for its agent,
and one for its messages.
"""

from collections.abc import Iterator
from typing import Any

from reel import replies, requests
from reel.base.errors import ReelError
from reel.base.light_typing import NamedTuple
from reel.importing.adding.pipeline import Pipeline, Taker
from reel.requests import Call
from reel.wire.msgpack_codec import packed

# The daemon accepts 100 commands at once. It reads events of so many bytes in a few milliseconds.
_MOST, _BYTES = 100, 64 << 10
# A stretch with more events is sent by itself.
_FEW = 32
# The head of an agent that was just created.
_CREATED = 1


class Made(NamedTuple):
    """An agent that was created together with other commands."""

    id: str


class _Waiting(NamedTuple):
    """A command, what receives its reply, and the command as a part of one on several agents."""

    call: Call[Any]
    take: Taker
    part: Call[Any]


class Grouping:
    """A pipeline in which small commands wait for others, to be sent together.

    If one of them is refused, each is sent again by itself.

    Args:
        pipeline: sends the commands.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._waiting: list[_Waiting] = []
        self._size = 0
        # The agents of the waiting commands, and those among them that are created and have no other command yet.
        self._agents: set[str] = set()
        self._made: set[str] = set()
        # Whether commands were sent again since the pipeline was drained.
        self._is_repeating = False

    def submit(self, call: Call[Any], take: Taker) -> None:
        """Send a command, now or with others; ``take`` receives its reply, or a ``ReelError``."""
        agent, size = call.params.get("agent", ""), _size_of(call)
        if size is None or not self.knows("append_together"):
            self.flush()
            self._pipeline.submit(call, take)
            return
        is_first = call.method == "append" and agent in self._made and call.params.get("if_seq") == _CREATED
        if len(self._waiting) == _MOST or self._size + size > _BYTES or (agent in self._agents and not is_first):
            self.flush()
            is_first = False
        part = call
        if is_first:  # it expects the head of the agent that is created with it
            part = call._replace(params={name: value for name, value in call.params.items() if name != "if_seq"})
            self._made.discard(agent)
        elif call.method == "create":
            self._made.add(agent)
        self._agents.add(agent)
        self._waiting.append(_Waiting(call, take, part))
        self._size += size

    def flush(self) -> None:
        """Send what waits."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        self._agents, self._made = set(), set()
        if len(waiting) == 1:
            self._pipeline.submit(waiting[0].call, waiting[0].take)
        elif waiting:
            self._pipeline.submit(
                requests.commit(one.part for one in waiting), lambda reply: self._took(reply, waiting)
            )

    def _took(self, reply: Any, waiting: list[_Waiting]) -> None:
        if isinstance(reply, ReelError):  # each gets its own answer
            self._is_repeating = True
            for one in waiting:
                self._pipeline.submit(one.call, one.take)
            return
        for one, result in zip(waiting, reply.results, strict=True):
            if one.call.method == "create":
                one.take(Made(result.agent))
            else:
                one.take(replies.Appended(result.agent, result.head, result.command, result.time, result.first))

    def drain(self) -> None:
        """Send what waits, and wait until no command is unanswered."""
        self.flush()
        self._pipeline.drain()
        if self._is_repeating:
            self._is_repeating = False
            self._pipeline.drain()

    def call(self, call: Call[Any]) -> Any:
        """Send a request and wait for its reply, after those of all submitted commands."""
        self.drain()
        return self._pipeline.call(call)

    def iter_agents(self) -> Iterator[replies.AgentRow]:
        """Yield the agents."""
        self.drain()
        return self._pipeline.iter_agents()

    def pages(self, call: Call[Any]) -> Iterator[Any]:
        """Yield a reply, and every page after it."""
        self.drain()
        return self._pipeline.pages(call)

    def knows(self, feature: str) -> bool:
        """Return whether the daemon has a feature."""
        return self._pipeline.knows(feature)


def _size_of(call: Call[Any]) -> int | None:
    """Return about how many bytes a command takes; ``None`` if it is to be sent by itself."""
    if call.method == "create" or (call.method == "append" and len(call.params["events"]) <= _FEW):
        size = len(packed(call.params))
        return size if size <= _BYTES else None
    return None
