"""Streams of Ollama."""

import json
from typing import Any

from tests.reel.streams.samples.sample import Sample, ndjson


def said(done: bool = False, **message: Any) -> dict[str, Any]:
    """Make a chunk of Ollama's."""
    ended = {"done_reason": "stop", "eval_count": 8} if done else {}
    head = {"model": "qwen3:8b", "created_at": "2026-11-22T00:00:00Z"}
    return {**head, "message": {"role": "assistant", "content": "", **message}, "done": done, **ended}


_OLLAMA_CALLS = [
    {"id": "call_1", "function": {"index": 0, "name": "weather", "arguments": {"city": "Oslo"}}},
    {"function": {"index": 1, "name": "time", "arguments": {}}},
]

_OLLAMA_BODY = said(done=True, content="Let me look \U0001f50e.", thinking="Hm, rain?", tool_calls=_OLLAMA_CALLS)

OLLAMA = Sample(
    "ollama",
    ndjson(
        [
            said(thinking="Hm, ", images=None),
            said(thinking="rain?"),
            said(content="Let me "),
            said(content="look \U0001f50e."),
            said(tool_calls=_OLLAMA_CALLS[:1]),
            said(tool_calls=_OLLAMA_CALLS[1:]),
            said(done=True),
        ]
    ),
    "Let me look \U0001f50e.",
    _OLLAMA_BODY,
)

OLLAMA_WHOLE = Sample("ollama", json.dumps(_OLLAMA_BODY, indent=2).encode(), *OLLAMA[2:])
