"""Answers of every provider with their pieces in any order: thinking between calls, halves, takeovers, compactions.

Each piece has a word of its own, by which a test finds it in what is rendered later.
"""

import random
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

Json = dict[str, Any]
# A piece is made of its word and of the id of its call.
Make = Callable[[str, str], list[Json]]
# It is valid as base64 too.
WORD = re.compile(r"q\d{7}")
TOOLS = ("look", "look", "find")
# How often pieces are in an answer; what a provider does not have is left out.
_WEIGHTS = {
    "thought": 30,
    "hidden": 4,
    "said": 22,
    "blank": 3,
    "call": 25,
    "served": 9,
    "asked": 3,
    "taken over": 8,
    "compacted": 2,
    "narrated": 3,
    "cited": 3,
}


def _anthropic_server(word: str, of: str) -> list[Json]:
    return [
        {"type": "server_tool_use", "id": f"srv{of}", "name": "web_search", "input": {"query": word}},
        {"type": "web_search_tool_result", "tool_use_id": f"srv{of}", "content": []},
    ]


def _anthropic_call(word: str, of: str) -> list[Json]:
    return [{"type": "tool_use", "id": of, "name": _tool(word), "input": {"of": word}}]


def _bedrock_call(word: str, of: str, **more: str) -> list[Json]:
    return [{"toolUse": {"toolUseId": of, "name": _tool(word), "input": {"of": word}, **more}}]


def _bedrock_server(word: str, of: str) -> list[Json]:
    result = {"toolUseId": f"srv{of}", "content": [{"text": "found"}], "type": "web_search_result"}
    return [*_bedrock_call(word, f"srv{of}", type="server_tool_use"), {"toolResult": result}]


def _tool(word: str) -> str:
    return TOOLS[int(word[1:]) % len(TOOLS)]


def _chat_call(word: str, of: str) -> list[Json]:
    function = {"name": _tool(word), "arguments": f'{{"of":"{word}"}}'}
    return [{"tool_calls": [{"id": of, "type": "function", "function": function}]}]


def _responses_server(word: str, of: str) -> list[Json]:
    action = {"type": "search", "query": word}
    return [{"type": "web_search_call", "id": f"ws_{of}", "status": "completed", "action": action}]


_CLAUDE: dict[str, Make] = {
    "thought": lambda word, _: [{"type": "thinking", "thinking": "", "signature": word}],
    "hidden": lambda word, _: [{"type": "redacted_thinking", "data": word}],
    "said": lambda word, _: [{"type": "text", "text": word}],
    "blank": lambda _word, _: [{"type": "text", "text": "\n"}],
    "call": _anthropic_call,
    "served": _anthropic_server,
    "asked": lambda word, of: _anthropic_server(word, of)[:1],
    "taken over": lambda *_: [{"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}],
    "narrated": lambda word, _: [{"type": "connector_text", "connector_text": word}],
}
PIECES: Mapping[str, dict[str, Make]] = {
    "anthropic": {
        **_CLAUDE,
        "compacted": lambda word, _: [{"type": "compaction", "content": word, "signature": f"s{word}"}],
    },
    "bedrock-converse": {
        "thought": lambda word, _: [{"reasoningContent": {"reasoningText": {"text": "", "signature": word}}}],
        "hidden": lambda word, _: [{"reasoningContent": {"redactedContent": word}}],
        "said": lambda word, _: [{"text": word}],
        "blank": lambda _word, _: [{"text": "\n"}],
        "call": _bedrock_call,
        "served": _bedrock_server,
        "asked": lambda word, of: _bedrock_server(word, of)[:1],
        "cited": lambda word, _: [{"citationsContent": {"content": [{"text": word}], "citations": []}}],
    },
    "gemini": {
        "thought": lambda word, _: [{"text": word, "thought": True}],
        "said": lambda word, _: [{"text": word}],
        "blank": lambda _word, _: [{"text": "", "thoughtSignature": "c2ln"}],
        "call": lambda word, of: [
            {"functionCall": {"id": of, "name": _tool(word), "args": {"of": word}}, "thoughtSignature": "c2ln"}
        ],
        "served": lambda word, _: [
            {"executableCode": {"language": "PYTHON", "code": word}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        ],
        "asked": lambda word, of: [
            {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": f"srv{of}", "args": {"of": word}}}
        ],
    },
    "gemini-interactions": {
        "thought": lambda word, _: [{"type": "thought", "signature": word, "summary": []}],
        "hidden": lambda word, _: [{"type": "thought", "summary": [{"type": "text", "text": word}]}],
        "said": lambda word, _: [{"type": "model_output", "content": [{"type": "text", "text": word}]}],
        "blank": lambda _word, _: [{"type": "model_output", "content": [{"type": "text", "text": " "}]}],
        "call": lambda word, of: [{"type": "function_call", "id": of, "name": _tool(word), "arguments": {"of": word}}],
        "served": lambda word, of: [
            {"type": "google_search_call", "id": f"srv{of}", "arguments": {"queries": [word]}},
            {"type": "google_search_result", "call_id": f"srv{of}", "result": []},
        ],
        "asked": lambda word, of: [{"type": "google_search_call", "id": f"srv{of}", "arguments": {"queries": [word]}}],
    },
    "openai-responses": {
        "thought": lambda word, of: [{"type": "reasoning", "id": f"rs_{of}", "summary": [], "encrypted_content": word}],
        "said": lambda word, _: [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": word}]}
        ],
        "blank": lambda *_: [{"type": "message", "role": "assistant", "content": []}],
        "call": lambda word, of: [
            {"type": "function_call", "call_id": of, "name": _tool(word), "arguments": f'{{"of":"{word}"}}'}
        ],
        "served": _responses_server,
        "asked": lambda word, of: [
            {"type": "shell_call", "call_id": f"sh{of}", "action": {"commands": [word]}, "status": "completed"},
            {"type": "shell_call_output", "call_id": f"sh{of}", "output": []},
        ],
        "compacted": lambda word, of: [{"type": "compaction", "id": f"cmp_{of}", "encrypted_content": word}],
    },
    "openai-chat": {
        "thought": lambda word, _: [{"reasoning_content": word}],
        "hidden": lambda word, _: [{"reasoning_details": [{"type": "reasoning.encrypted", "data": word}]}],
        "said": lambda word, _: [{"content": word}],
        "blank": lambda *_: [{"content": ""}],
        "call": _chat_call,
    },
    "ollama": {
        "thought": lambda word, _: [{"thinking": word}],
        "said": lambda word, _: [{"content": word}],
        "blank": lambda *_: [{"content": "\n"}],
        "call": lambda word, of: [
            {"tool_calls": [{"id": of, "function": {"name": _tool(word), "arguments": {"of": word}}}]}
        ],
    },
    "langchain": _CLAUDE,
}


def _joined(parts: Iterable[Json]) -> Json:
    """Return one message of fragments: texts and lists of one key follow each other."""
    message: Json = {}
    for part in parts:
        for key, value in part.items():
            message[key] = message[key] + value if key in message else value
    return message


def _langchain(parts: list[Json], model: str, _stop: str) -> Json:
    calls = [part for part in parts if part["type"] == "tool_use"]
    return {
        "type": "ai",
        "content": parts,
        "tool_calls": [{"id": call["id"], "name": call["name"], "args": call["input"]} for call in calls],
        "response_metadata": {"model_provider": "anthropic", "model_name": model},
    }


BODIES: dict[str, Callable[[list[Json], str, str], Json]] = {
    "anthropic": lambda parts, model, stop: {
        "role": "assistant",
        "model": model,
        "content": parts,
        "stop_reason": stop or "end_turn",
    },
    "bedrock-converse": lambda parts, _, stop: {
        "output": {"message": {"role": "assistant", "content": parts}},
        "stopReason": stop or "end_turn",
    },
    "gemini": lambda parts, model, stop: {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": stop or "STOP"}],
        "modelVersion": model,
    },
    "gemini-interactions": lambda parts, model, stop: {"model": model, "status": stop or "completed", "steps": parts},
    "openai-responses": lambda parts, model, stop: {"model": model, "status": stop or "completed", "output": parts},
    "openai-chat": lambda parts, model, stop: {
        "model": model,
        "choices": [{"message": {"role": "assistant", **_joined(parts)}, "finish_reason": stop or "stop"}],
    },
    "ollama": lambda parts, model, stop: {
        "model": model,
        "message": {"role": "assistant", "content": "", **_joined(parts)},
        "done": True,
        "done_reason": stop or "stop",
    },
    "langchain": _langchain,
}
# The others have a place for each kind of piece.
_IN_ORDER = ("anthropic", "bedrock-converse", "gemini-interactions", "openai-responses")
# Why an answer stopped that is not done, or was not allowed to be.
_STOPS = {
    "anthropic": ("pause_turn", "compaction", "refusal", "max_tokens"),
    "bedrock-converse": ("guardrail_intervened", "max_tokens"),
    "gemini": ("MAX_TOKENS", "SAFETY"),
    "gemini-interactions": ("failed", "cancelled", "idle"),
    "openai-responses": ("incomplete", "failed"),
    "openai-chat": ("length", "content_filter"),
    "ollama": ("length",),
}


class Answer(NamedTuple):
    """An answer: its body, the words that keep their order, and all of its words."""

    body: Json
    ordered: list[str]
    words: frozenset[str]
    is_compacting: bool


def hostile_answer(
    name: str, model: str, chance: random.Random, words: Iterable[str], *, without: frozenset[str] = frozenset()
) -> Answer:
    """Return a random answer.

    Args:
        name: the format.
        model: the model that answers.
        chance: decides on what is in it.
        words: words that no other answer has.
        without: the kinds of pieces that it does not have.
    """
    known = PIECES[name]
    kinds = [kind for kind in _WEIGHTS if kind in known and kind not in without]
    if chance.random() < 0.5:
        chosen = ["thought", *chance.choice([["said"], ["call"], ["call", "call"], ["call", "thought", "call"]])]
    else:
        chosen = chance.choices(kinds, [_WEIGHTS[kind] for kind in kinds], k=chance.randint(1, 8))
    # A server's tool moves in front of a call (rule A2).
    called, ordered, parts, used = False, [], [], []
    for kind, word in zip((kind for kind in chosen if kind not in without), words, strict=False):
        # An id that an earlier call may have had.
        of = f"call_{chance.randint(1, 20)}" if chance.random() < 0.1 else f"id_{word[1:]}"
        parts += known[kind](word, of)
        called = called or kind == "call"
        used.append(word)
        if kind not in ("served", "asked") or not called:
            ordered.append(word)
    stop = chance.choice(_STOPS.get(name, ("",))) if chance.random() < 0.07 else ""
    # A compaction stands first.
    is_compacting = "compacted" in chosen
    if is_compacting or name not in _IN_ORDER:
        ordered = []
    return Answer(BODIES[name](parts, model, stop), ordered, frozenset(used), is_compacting)
