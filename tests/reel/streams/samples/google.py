"""Streams of Gemini and of the Interactions API."""

import json
from typing import Any

from tests.reel.streams.samples.sample import Sample, sse


def candidate(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Make a chunk of Gemini's."""
    ended = {} if finish is None else {"finishReason": finish}
    return {
        "candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0, **ended}],
        "usageMetadata": {"promptTokenCount": 4},
        "modelVersion": "gemini-3-pro",
        "responseId": "r1",
        **more,
    }


_GEMINI_CHUNKS = [
    candidate({"text": "Hm, ", "thought": True}),
    candidate({"text": "rain?", "thought": True}),
    candidate({"text": "Let me "}),
    candidate({"text": "look."}, {"text": "", "thoughtSignature": "c2ln"}),
    candidate({"functionCall": {"name": "weather", "args": {"city": "[Oslo]"}}, "thoughtSignature": "Y2Fs"}),
    candidate({"functionCall": {"name": "time", "args": {}}}),
    candidate(finish="STOP", usageMetadata={"promptTokenCount": 4, "candidatesTokenCount": 8}),
]

_GEMINI_BODY = {
    "candidates": [
        {
            "content": {
                "parts": [
                    {"text": "Hm, rain?", "thought": True},
                    {"text": "Let me look.", "thoughtSignature": "c2ln"},
                    {"functionCall": {"name": "weather", "args": {"city": "[Oslo]"}}, "thoughtSignature": "Y2Fs"},
                    {"functionCall": {"name": "time", "args": {}}},
                ],
                "role": "model",
            },
            "index": 0,
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 8},
    "modelVersion": "gemini-3-pro",
    "responseId": "r1",
}

GEMINI = Sample("gemini", sse(_GEMINI_CHUNKS), "Let me look.", _GEMINI_BODY)

GEMINI_ARRAY = Sample(
    "gemini", ("[" + "\n,\r\n".join(json.dumps(c, indent=2) for c in _GEMINI_CHUNKS) + "\n]\n").encode(), *GEMINI[2:]
)


def step(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """Make the events of a step of an interaction."""
    return [
        {"event_type": "step.start", "index": index, "step": start},
        *({"event_type": "step.delta", "index": index, "delta": delta} for delta in deltas),
        {"event_type": "step.stop", "index": index},
    ]


_SEARCH_RESULT = {"title": "a.example", "url": "https://a.example"}

_CITED = {"type": "url_citation", "url": "https://a.example", "start_index": 0, "end_index": 4}

_INTERACTION = {"id": "", "object": "interaction", "model": "gemini-3-pro"}

_INTERACTION_USAGE = {"total_input_tokens": 4, "total_output_tokens": 8}

INTERACTIONS = Sample(
    "gemini-interactions",
    sse(
        [
            {"event_type": "interaction.created", "interaction": {**_INTERACTION, "status": "in_progress"}},
            {"event_type": "interaction.status_update", "interaction_id": "", "status": "in_progress"},
            *step(
                0,
                {"type": "thought"},
                {"type": "thought_summary", "content": {"type": "text", "text": "Hm, "}},
                {"type": "thought_summary", "content": {"type": "text", "text": "rain?"}},
                {"type": "thought_signature", "signature": "c2ln"},
            ),
            *step(
                1,
                {"id": "s1", "signature": "", "type": "google_search_call"},
                {"type": "google_search_call", "arguments": {"queries": ["rain"]}},
            ),
            *step(
                2,
                {"call_id": "s1", "signature": "", "type": "google_search_result"},
                {"type": "google_search_result", "result": [_SEARCH_RESULT]},
            ),
            *step(
                3,
                {"type": "model_output"},
                {"type": "text", "text": "Let me "},
                {"type": "text", "text": "look \U0001f50e."},
                {"type": "text_annotation_delta", "annotations": [_CITED]},
            ),
            *step(
                4,
                {"type": "function_call", "id": "c1", "name": "weather", "arguments": {}},
                {"type": "arguments_delta", "arguments": '{"city":'},
                {"type": "arguments_delta", "arguments": '"Oslo"}'},
            ),
            *step(5, {"type": "function_call", "id": "c2", "name": "time", "arguments": {}}),
            {
                "event_type": "interaction.completed",
                "interaction": {**_INTERACTION, "status": "requires_action", "usage": _INTERACTION_USAGE},
            },
        ]
    ),
    "Let me look \U0001f50e.",
    {
        **_INTERACTION,
        "status": "requires_action",
        "usage": _INTERACTION_USAGE,
        "steps": [
            {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "Hm, rain?"}]},
            {"id": "s1", "type": "google_search_call", "arguments": {"queries": ["rain"]}},
            {"call_id": "s1", "type": "google_search_result", "result": [_SEARCH_RESULT]},
            {
                "type": "model_output",
                "content": [{"type": "text", "text": "Let me look \U0001f50e.", "annotations": [_CITED]}],
            },
            {"type": "function_call", "id": "c1", "name": "weather", "arguments": {"city": "Oslo"}},
            {"type": "function_call", "id": "c2", "name": "time", "arguments": {}},
        ],
    },
)
