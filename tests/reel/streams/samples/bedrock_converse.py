"""Streams of Bedrock's Converse API."""

import json
from typing import Any

from tests.reel.streams.samples.sample import Sample, ndjson


def piece(index: int, **delta: Any) -> dict[str, Any]:
    """Make a piece of a block of Bedrock's."""
    return {"contentBlockDelta": {"delta": delta, "contentBlockIndex": index}}


def begun(index: int, **start: Any) -> dict[str, Any]:
    """Make the start of a block of Bedrock's."""
    return {"contentBlockStart": {"start": start, "contentBlockIndex": index}}


_CITED = {"title": "Tapes", "sourceContent": [{"text": "wet"}], "location": {"documentChar": {"documentIndex": 0}}}

BEDROCK_EVENTS: list[dict[str, Any]] = [
    {"messageStart": {"role": "assistant"}},
    piece(0, reasoningContent={"text": "Search "}),
    piece(0, reasoningContent={"text": "first."}),
    piece(0, reasoningContent={"signature": "EqQB"}),
    {"contentBlockStop": {"contentBlockIndex": 0}},
    piece(1, reasoningContent={"redactedContent": "dGE="}),
    piece(1, reasoningContent={"redactedContent": "cGU="}),
    piece(2, text="It is "),
    piece(2, text="wet."),
    piece(2, citation=_CITED),
    piece(3, text=" Look:"),
    begun(4, toolUse={"toolUseId": "tooluse_1", "name": "now"}),
    begun(5, toolUse={"toolUseId": "tooluse_2", "name": "at"}),
    piece(5, toolUse={"input": '{"x": '}),
    piece(5, toolUse={"input": "1}"}),
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"inputTokens": 25, "outputTokens": 89}, "metrics": {"latencyMs": 5}}},
]

_BEDROCK_BODY = {
    "output": {
        "message": {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Search first.", "signature": "EqQB"}}},
                {"reasoningContent": {"redactedContent": "dGFwZQ=="}},
                {"citationsContent": {"content": [{"text": "It is wet."}], "citations": [_CITED]}},
                {"text": " Look:"},
                {"toolUse": {"toolUseId": "tooluse_1", "name": "now", "input": {}}},
                {"toolUse": {"toolUseId": "tooluse_2", "name": "at", "input": {"x": 1}}},
            ],
        }
    },
    "stopReason": "tool_use",
    "usage": {"inputTokens": 25, "outputTokens": 89},
    "metrics": {"latencyMs": 5},
}

BEDROCK = Sample("bedrock-converse", ndjson(BEDROCK_EVENTS), "It is wet. Look:", _BEDROCK_BODY)

BEDROCK_WHOLE = Sample("bedrock-converse", json.dumps(_BEDROCK_BODY).encode(), *BEDROCK[2:])

# As in the stream itself, with the name beside what is inside of an event.
BEDROCK_SSE = Sample(
    "bedrock-converse",
    "".join(
        f"event: {name}\ndata: {json.dumps(inside)}\n\n" for event in BEDROCK_EVENTS for name, inside in event.items()
    ).encode(),
    *BEDROCK[2:],
)
