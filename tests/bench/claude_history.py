"""A synthetic history of Claude Code: sessions with prompts, thinking, calls and results, as that writes them."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# A turn is a prompt, one of these numbers of rounds of thinking, a text, a call and its result, and an answer.
_ROUNDS = (0, 0, 1, 2)
_WORDS = 3000
# Seconds since the epoch at which the first session begins, and between two records.
_BEGIN, _STEP = 1_767_225_600, 7


def write(directory: Path, sessions: int, records: int) -> list[Path]:
    """Write so many transcripts of so many records; return their files, the same each time."""
    chance = random.Random(37)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(_WORDS)]
    made = []
    for number in range(sessions):
        path = directory / f"-home-u-project{number % 5}" / f"{_session_id(number)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(record)}\n" for record in _session(number, records, chance, words))
        made.append(path)
    return made


def _session_id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def _session(number: int, records: int, chance: random.Random, words: list[str]) -> Iterator[dict[str, Any]]:
    parent: str | None = None
    messages = _messages(number, chance, words)
    for index in range(records):
        kind, message = next(messages)
        uuid = f"{number:08x}-0001-4000-8000-{index:012x}"
        yield {
            "parentUuid": parent,
            "isSidechain": False,
            "cwd": "/home/u/project",
            "sessionId": _session_id(number),
            "version": "2.1.90",
            "gitBranch": "main",
            "type": kind,
            "message": message,
            "uuid": uuid,
            "timestamp": _time(_BEGIN + (number * records + index) * _STEP),
        }
        parent = uuid


def _time(seconds: int) -> str:
    days, rest = divmod(seconds - _BEGIN, 86_400)
    month, day = divmod(days % 336, 28)
    return f"2026-{month + 1:02}-{day + 1:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}.000Z"


def _messages(number: int, chance: random.Random, words: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kind and the message of each record of a session, without end."""

    def text(count: int) -> str:
        return " ".join(chance.choices(words, k=count))

    def answered(answer: str, block: dict[str, Any], reason: str | None) -> tuple[str, dict[str, Any]]:
        usage = {"input_tokens": 4, "cache_read_input_tokens": chance.randint(1, 90_000), "output_tokens": 120}
        message = {"id": answer, "type": "message", "role": "assistant", "model": "claude-opus-4-5"}
        return "assistant", {**message, "content": [block], "stop_reason": reason, "usage": usage}

    turn = 0
    while True:
        turn += 1
        yield "user", {"role": "user", "content": text(60)}
        for step in range(chance.choice(_ROUNDS)):
            answer, call = f"msg_{number:x}_{turn:x}_{step}", f"toolu_{number:x}_{turn:x}_{step}"
            thought = {"type": "thinking", "thinking": text(50), "signature": "c2lnbmF0dXJl" * 20}
            asked = {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "/home/u/src/tape.py"}}
            yield answered(answer, thought, None)
            yield answered(answer, {"type": "text", "text": text(30)}, None)
            yield answered(answer, asked, "tool_use")
            result = {"tool_use_id": call, "type": "tool_result", "content": text(500)}
            yield "user", {"role": "user", "content": [result]}
        yield answered(f"msg_{number:x}_{turn:x}", {"type": "text", "text": text(130)}, "end_turn")
