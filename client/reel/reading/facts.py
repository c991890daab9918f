"""What is known of a conversation, as lines for editors: a line for each fact."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from reel.reading.wording import safe

_NAMES = 12  # columns


def facts(agent: Mapping[str, Any], origin: str | None, context: str = "") -> list[str]:
    """Return a line for each fact about an agent, as the method ``agent`` describes it; what is empty has none.

    Args:
        agent: the reply of that method.
        origin: the name of the agent that it was cloned from; its id stands for one that is gone.
        context: how full the context of a model is with it.
    """
    return [f"{name:<{_NAMES}} {_one_line(text)}" for name, text in _named(agent, origin, context) if text]


def _named(agent: Mapping[str, Any], origin: str | None, context: str) -> Iterator[tuple[str, str | None]]:
    source = agent.get("source")
    yield "name", agent["name"]
    yield "id", agent["id"]
    yield "state", None if agent["alive"] else "killed"
    yield "title", agent["title"]
    yield "messages", str(agent["messages"])
    yield "head", f"#{agent['head']}"
    yield "marks", ", ".join(f"{mark['label'] or ''} #{mark['seq']}".strip() for mark in agent["marks"])
    yield "turn", ", ".join(f"{call['name']} {call['id']}" for call in agent["open_calls"])
    yield "context", context
    yield "tags", ", ".join(f"{name}={value}" for name, value in sorted(agent["tags"].items()))
    yield "cloned from", source and f"{origin or source['agent']} at #{source['at']}"
    yield "created", _clock(agent["created"])
    yield "updated", _clock(agent["updated"])
    yield "followers", str(agent["attached"])
    yield "prompt", agent["system"]


def _clock(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(milliseconds / 1000))


def _one_line(text: str) -> str:
    """Return a text without line breaks: names, titles and ids are other people's."""
    return safe(" ".join(line for line in text.splitlines() if line))
