"""Requests of four formats as lists of blocks, to compare what a program sent with what reel renders."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

# The kind, and what it says: ("user", text), ("assistant", text), ("thought", text, signature),
# ("call", id, name, arguments), ("result", id, text), ("media", type).
Block = tuple[Any, ...]
# What programs add to a request, or take from it, without keeping it with their conversation.
_PASSING = re.compile(r"<(system-reminder|session_context|environment_context|permissions|skills_instructions)")
# Formats without a mark for a call that failed: reel writes it in front.
_FAILED = "Error: "
# What Gemini CLI and reel send between a prompt and the results before it if an answer did not end. That of Gemini CLI
# is in its files only where it writes the whole conversation again.
_BETWEEN = (
    ("assistant", "[The previous response was interrupted before it completed.]"),
    ("assistant", "(noted)"),
)
# What reel renders for a call without a result, and for one that was interrupted; and what programs send in its place
# and do not keep, each always the same words.
_NO_RESULT = re.compile(r'({"error": ")?No result: ')
_INTERRUPTED = "No result: the call was interrupted before it was answered."
_MADE_UP = {"codex": "aborted", "opencode": "[Tool execution was interrupted]", "pi": "No result provided"}


def blocks_of(api: str, body: dict[str, Any]) -> list[Block]:
    """Return the blocks of the conversation in a request, without what programs add in passing."""
    return _in_order(block for block in _READERS[api](body) if not _is_passing(block))


def _in_order(blocks: Iterable[Block]) -> list[Block]:
    """Return blocks with sorted results: programs give those of parallel calls as they came, reel as the calls came."""
    runs = (list(run) for _, run in groupby(blocks, lambda block: block[0]))
    return [block for run in runs for block in (sorted(run) if run[0][0] == "result" else run)]


def conversation_of(tool: str, api: str, body: dict[str, Any]) -> list[Block]:
    """Return the blocks of a request of a program, or of a rendering, without what the program keeps otherwise."""
    found = [_as_reel_says(tool, block) for block in blocks_of(api, body)]
    if tool == "codex":
        return _in_order(_calls_first(found))
    if tool != "gemini-cli":
        return found
    found = [block for block in found if block not in _BETWEEN]
    # Once it is resumed, it sends each result twice: that of the call, and that of the message after it.
    before = [None, *found]
    return [block for block, last in zip(found, before, strict=False) if (block[0], block) != ("result", last)]


def _as_reel_says(tool: str, block: Block) -> Block:
    """Return a result that a program has made up for a call that was interrupted as reel makes it up."""
    is_made_up = block[0] == "result" and block[2] == _MADE_UP.get(tool)
    return (*block[:2], _INTERRUPTED) if is_made_up else block


def _calls_first(blocks: list[Block]) -> list[Block]:
    """Return blocks with what was made up for a call after the calls beside it: Codex sends it before them."""
    made: list[Block] = []
    for block in blocks:
        at = len(made)
        while block[0] == "call" and at and made[at - 1][0] == "result" and made[at - 1][2] == _INTERRUPTED:
            at -= 1
        made.insert(at, block)
    return made


def without_end(blocks: list[Block], then: str) -> list[Block]:
    """Return the blocks of a rendering without the question at its end, and the results that are made up before it."""
    assert ("user", then) == blocks[-1]
    end = len(blocks) - 1
    while end and blocks[end - 1][0] == "result" and _NO_RESULT.match(blocks[end - 1][2]):
        end -= 1
    return blocks[:end]


def _is_passing(block: Block) -> bool:
    return block[0] == "system" or (block[0] == "user" and _PASSING.match(block[1]) is not None)


def prompts_in(api: str, body: dict[str, Any]) -> list[str]:
    """Return the texts of a request that are no answer and no result."""
    return [block[1] for block in blocks_of(api, body) if block[0] == "user"]


def tools_in(api: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the tools of a request: the schemas by their names."""
    found: dict[str, Any] = {}
    for tool in body.get("tools") or []:
        for each in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            schema = each.get("input_schema") or each.get("parameters") or each.get("parametersJsonSchema")
            found[each.get("name") or each.get("type") or api] = schema or {}
    return found


def _text(value: Any) -> str:
    """Return the texts of a content, whatever its form."""
    if type(value) is str:
        return value
    return "\n".join(part if type(part) is str else part.get("text") or f"[{part.get('type')}]" for part in value or [])


def _result(call: Any, value: Any) -> Block:
    return ("result", call, _text(value).removeprefix(_FAILED).strip())


def _arguments(value: Any) -> str:
    if type(value) is str:
        try:
            value = json.loads(value or "{}")
        except ValueError:
            return str(value)
    return json.dumps(value, sort_keys=True)


def _anthropic(body: dict[str, Any]) -> Iterator[Block]:
    for message in body.get("messages", []):
        content = message["content"]
        for part in [{"type": "text", "text": content}] if type(content) is str else content:
            match part["type"]:
                case "text":
                    yield (message["role"], part["text"].strip())
                case "thinking":
                    yield ("thought", part["thinking"], part.get("signature", ""))
                case "tool_use":
                    yield ("call", part["id"], part["name"], _arguments(part["input"]))
                case "tool_result":
                    yield _result(part["tool_use_id"], part.get("content"))
                case kind:
                    yield ("media", kind)


def _responses(body: dict[str, Any]) -> Iterator[Block]:
    for item in body.get("input", []):
        kind = item.get("type", "message")
        if kind == "message":
            role = "assistant" if item["role"] == "assistant" else "user"
            for part in [{"text": item["content"]}] if type(item["content"]) is str else item["content"]:
                if item["role"] in ("user", "assistant"):
                    yield (role, part["text"].strip()) if "text" in part else ("media", part["type"])
        elif kind == "reasoning":
            texts = (part["text"] for part in item.get("summary", []))
            yield ("thought", "\n".join(texts), item.get("encrypted_content", ""))
        elif kind.endswith("_output"):
            yield _result(item["call_id"], item["output"])
        elif kind.endswith("_call"):
            yield ("call", item["call_id"], item["name"], _arguments(item.get("arguments", item.get("input"))))
        else:
            yield ("media", kind)


def _chat(body: dict[str, Any]) -> Iterator[Block]:
    for message in body.get("messages", []):
        role = message["role"]
        if role == "tool":
            yield _result(message["tool_call_id"], message.get("content"))
        elif role in ("user", "assistant"):
            if thought := message.get("reasoning_content") or message.get("reasoning"):
                yield ("thought", thought, "")
            if text := _text(message.get("content")):
                yield (role, text.strip())
            for call in message.get("tool_calls") or []:
                yield ("call", call["id"], call["function"]["name"], _arguments(call["function"]["arguments"]))


def _gemini(body: dict[str, Any]) -> Iterator[Block]:
    for content in body.get("contents", []):
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content.get("parts", []):
            if part.get("thought"):
                continue
            if "functionCall" in part:
                call = part["functionCall"]
                yield ("call", call.get("id", ""), call["name"], _arguments(call.get("args")))
            elif "functionResponse" in part:
                given = part["functionResponse"]
                yield ("result", given.get("id", ""), json.dumps(given.get("response"), sort_keys=True))
            elif "text" in part:
                yield (role, part["text"].strip())
            else:
                yield ("media", next(key for key in part if key != "thoughtSignature"))


_READERS = {"anthropic": _anthropic, "openai-responses": _responses, "openai-chat": _chat, "gemini": _gemini}
