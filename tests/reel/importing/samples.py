"""A small conversation in the form of each tool, made for tests. Each text of it is in one record."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from reel.importing import tool_named
from reel.importing.steps import About, Compacted, Kept, Reading, Said, Step, Tool
from reel.importing.tools.reel_log.tool import LogFile
from tests.reel.importing.tools import (
    test_cline,
    test_continue_dev,
    test_copilot_cli,
    test_crush,
    test_grok_build,
    test_kimi_code,
    test_kiro_cli,
    test_llm,
    test_mistral_vibe,
    test_opencode,
    test_openhands,
    test_pi,
    test_qwen_code,
    test_vscode_chat,
    test_zed,
)
from tests.reel.importing.tools.test_openai_agents import saved as save_sessions

from . import chats
from .exported import Tree
from .exported import write as write_export
from .rollouts import Lines
from .transcripts import Transcript

_TIME = "2026-01-01T00:00:00Z"


class Sample(NamedTuple):
    """A tool's form of a conversation.

    Args:
        tool: the name of the tool.
        file: the file that is damaged.
        unit: what a damaged byte can make unreadable: a line, a conversation, a file or a whole database.
        write: writes the conversation into a directory, with these texts in turns, and with an id.
    """

    tool: str
    file: str
    unit: str
    write: Callable[[Path, list[str], str], object]


def _roles(texts: list[str]) -> Iterator[tuple[int, str, str]]:
    for number, text in enumerate(texts):
        yield number, "assistant" if number % 2 else "user", text


def _claude_code(root: Path, texts: list[str], ident: str) -> None:
    made = Transcript(ident)
    for number, role, text in _roles(texts):
        if role == "user":
            made.user(f"{ident}u{number}", text)
        else:
            made.answer(f"{ident}a{number}", text, f"{ident}m{number}", agentId=ident, isSidechain=number == 1)
    made.write(root / "s.jsonl")


def _codex(root: Path, texts: list[str], ident: str) -> None:
    made = Lines(ident)
    for _, role, text in _roles(texts):
        made.said(role, text)
    made.write(root / "rollout-s.jsonl")


class _Talk(Protocol):
    """A tool's records, made for tests."""

    def user(self, key: str, text: str, /) -> object:
        """Add a prompt."""

    def answer(self, key: str, text: str, /) -> object:
        """Add an answer."""

    def write(self, path: Path, /) -> object:
        """Write the file."""


def _talk(make: Callable[[str], _Talk], file: str) -> Callable[[Path, list[str], str], object]:
    """Return what writes a conversation of prompts and answers."""

    def write(root: Path, texts: list[str], ident: str) -> object:
        made = make(ident)
        for number, role, text in _roles(texts):
            say = made.user if role == "user" else made.answer
            say(f"{ident}{number}", text)
        return made.write(root / file)

    return write


def _aider(root: Path, texts: list[str], _ident: str) -> None:
    said = "".join(f"#### {text}\n" if role == "user" else f"{text}\n" for _, role, text in _roles(texts))
    (root / ".aider.chat.history.md").write_text(f"# aider chat started at 2026-06-09 14:01:00\n{said}")


def _jsonl(root: Path, texts: list[str], ident: str) -> None:
    lines = [json.dumps({"role": role, "content": text, "id": ident}) for _, role, text in _roles(texts[1:])]
    whole = json.dumps({"id": ident, "messages": [{"role": "user", "content": texts[0]}]})
    (root / "s.jsonl").write_text("\n".join([whole, *lines]) + "\n")


def _cursor(root: Path, texts: list[str], _ident: str) -> None:
    records = [
        {"role": role, "message": {"content": [{"type": "text", "text": text}]}} for _, role, text in _roles(texts)
    ]
    (root / "s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def _mistral_vibe(root: Path, texts: list[str], ident: str) -> None:
    said = [test_mistral_vibe.said(role, text, f"{ident}{number}") for number, role, text in _roles(texts)]
    test_mistral_vibe.save(root / "s", *said, session_id=ident)


def _kimi_code(root: Path, texts: list[str], ident: str) -> None:
    log = test_kimi_code.Log()
    for number, role, text in _roles(texts):
        (log.user if role == "user" else log.answer)(f"{ident}{number}", text)
    log.write(root)


def _openhands(root: Path, texts: list[str], ident: str) -> None:
    events = [test_openhands.said(role, text, f"{ident}{number}") for number, role, text in _roles(texts)]
    test_openhands.save(root / "c1", *events)


def _vscode_requests(texts: list[str], ident: str) -> list[Any]:
    return [
        test_vscode_chat.request(f"{ident}{number}", text if role == "user" else "?", *([text] * (role != "user")))
        for number, role, text in _roles(texts)
    ]


def _vscode_chat(root: Path, texts: list[str], ident: str) -> None:
    test_vscode_chat.save(root / "chatSessions/s.json", *_vscode_requests(texts, ident), sessionId=ident)


def _vscode_log(root: Path, texts: list[str], ident: str) -> None:
    requests = _vscode_requests(texts, ident)
    changes = [{"kind": 2, "k": ["requests"], "v": [request]} for request in requests]
    test_vscode_chat.log(root / "chatSessions/log.jsonl", *changes)


def _grok_build(root: Path, texts: list[str], _ident: str) -> None:
    makers = {"user": test_grok_build.user, "assistant": test_grok_build.answer}
    test_grok_build.save(root / "s", *(makers[role](text) for _, role, text in _roles(texts)))


def _kiro_cli(root: Path, texts: list[str], ident: str) -> None:
    makers = {"user": test_kiro_cli.prompt, "assistant": test_kiro_cli.answer}
    said = [makers[role](f"{ident}{number}", text) for number, role, text in _roles(texts)]
    test_kiro_cli.save(root / "s.jsonl", *said, session_id=ident)


def _reel(root: Path, texts: list[str], ident: str) -> None:
    events: list[Any] = [{"reel": 1, "agent": {"id": ident, "name": ident}}]
    for number, role, text in _roles(texts):
        event = {"seq": number + 1, "command": number + 1, "kind": role, "content": text, "data_json": None}
        events.append({**event, "time": 5, "ref": ident})
    (root / "s.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def _chatgpt(root: Path, texts: list[str], ident: str) -> None:
    trees = [Tree(f"{ident}{number}").said(f"{ident}m", role, text) for number, role, text in _roles(texts)]
    write_export(root / "conversations.json", *(tree.exported() for tree in trees))


def _claude_ai(root: Path, texts: list[str], ident: str) -> None:
    def conversation(number: int, role: str, text: str) -> Any:
        sender = "human" if role == "user" else role
        message = {"uuid": f"{ident}m", "sender": sender, "text": text, "created_at": _TIME}
        return {"uuid": f"{ident}{number}", "name": ident, "chat_messages": [message]}

    write_export(root / "conversations.json", *(conversation(*said) for said in _roles(texts)))


def _llm(root: Path, texts: list[str], ident: str) -> None:
    said = list(_roles(texts))
    made = [test_llm.message(f"{ident}{n}", f"{ident}{n - 1}" if n else None, role, text) for n, role, text in said]
    turn = {**test_llm.turn(ident, "", f"{ident}{len(texts) - 1}"), "thread_id": ident}
    test_llm.saved(
        root / "logs.db",
        messages=[row for row, _ in made],
        parts=[part for _, parts in made for part in parts],
        threads=[{"id": ident, "name": ident, "forked_from": ident}],
        turns=[turn],
    )


def _openai_agents(root: Path, texts: list[str], ident: str) -> None:
    save_sessions(root / "s.db", **{ident: [{"role": role, "content": text} for _, role, text in _roles(texts)]})


def _parts(texts: list[str]) -> list[Any]:
    done = {"created": 1, "completed": 2}
    return [({"role": role, "time": done}, [{"type": "text", "text": text}]) for _, role, text in _roles(texts)]


def _crush(root: Path, texts: list[str], ident: str) -> None:
    rows = [
        test_crush.message(f"{ident}{number}", role, text, test_crush.end(), session=ident)
        for number, role, text in _roles(texts)
    ]
    test_crush.save(root / "crush.db", *rows, id=ident, parent_session_id=ident)


def _continue(root: Path, texts: list[str], ident: str) -> None:
    items = [test_continue_dev.said(f"{ident}{number}", role, text) for number, role, text in _roles(texts)]
    test_continue_dev.save(root / "sessions/s.json", *items, sessionId=ident)


def _cline(root: Path, texts: list[str], ident: str) -> None:
    messages = [test_cline.said(role, text, condenseId=ident) for _, role, text in _roles(texts)]
    test_cline.save(root, *messages)


def _zed(root: Path, texts: list[str], ident: str) -> None:
    messages = [
        test_zed.answer(text) if role == "assistant" else test_zed.user(f"{ident}{number}", text)
        for number, role, text in _roles(texts)
    ]
    test_zed.save(root / "threads.db", *messages, thread=ident, columns={"parent_id": ident})


def _opencode_tree(root: Path, texts: list[str], ident: str) -> None:
    test_opencode.tree(root, _parts(texts), id=ident, parentID=ident)


def _opencode_1(root: Path, texts: list[str], ident: str) -> None:
    test_opencode.first(root, _parts(texts))
    with closing(sqlite3.connect(root / "opencode.db")) as database, database:
        database.execute("UPDATE session SET id = ?, parent_id = ?", (ident, ident))
        database.execute("UPDATE message SET session_id = ?", (ident,))
        database.execute("UPDATE part SET session_id = ?, id = id || ?", (ident, ident))


def _opencode_2(root: Path, texts: list[str], ident: str) -> None:
    content = {"user": "text", "assistant": "content"}
    done = {"created": 1, "completed": 2}
    said = [
        {
            "type": role,
            "time": done,
            content[role]: text if role == "user" else [{"type": "text", "text": text, "id": ident}],
        }
        for _, role, text in _roles(texts)
    ]
    test_opencode.second(root, (ident, ident, said))


def _opencode_export(root: Path, texts: list[str], ident: str) -> None:
    test_opencode.exported(root, _parts(texts), id=ident, parentID=ident)


SAMPLES = {
    "claude-code": Sample("claude-code", "s.jsonl", "line", _claude_code),
    "codex": Sample("codex", "rollout-s.jsonl", "line", _codex),
    "gemini-cli": Sample("gemini-cli", "session-s.jsonl", "line", _talk(chats.Lines, "session-s.jsonl")),
    "pi": Sample("pi", "s.jsonl", "line", _talk(test_pi.Session, "s.jsonl")),
    "copilot-cli": Sample("copilot-cli", "s.jsonl", "line", _talk(test_copilot_cli.Session, "s.jsonl")),
    "qwen-code": Sample("qwen-code", "s.jsonl", "line", _talk(test_qwen_code.Session, "s.jsonl")),
    "cursor": Sample("cursor", "s.jsonl", "line", _cursor),
    "mistral-vibe": Sample("mistral-vibe", "s/messages.jsonl", "line", _mistral_vibe),
    "kimi-code": Sample("kimi-code", "session_s1/agents/main/wire.jsonl", "line", _kimi_code),
    "grok-build": Sample("grok-build", "s/chat_history.jsonl", "line", _grok_build),
    "kiro-cli": Sample("kiro-cli", "s.jsonl", "line", _kiro_cli),
    "aider": Sample("aider", ".aider.chat.history.md", "line", _aider),
    "jsonl": Sample("jsonl", "s.jsonl", "line", _jsonl),
    "reel": Sample("reel", "s.jsonl", "line", _reel),
    "chatgpt": Sample("chatgpt", "conversations.json", "conversation", _chatgpt),
    "claude-ai": Sample("claude-ai", "conversations.json", "conversation", _claude_ai),
    "llm": Sample("llm", "logs.db", "database", _llm),
    "openai-agents": Sample("openai-agents", "s.db", "database", _openai_agents),
    "crush": Sample("crush", "crush.db", "database", _crush),
    "continue": Sample("continue", "sessions/s.json", "file", _continue),
    "cline": Sample("cline", "api_conversation_history.json", "file", _cline),
    "zed": Sample("zed", "threads.db", "database", _zed),
    "vscode-chat": Sample("vscode-chat", "chatSessions/s.json", "file", _vscode_chat),
    "vscode-chat-log": Sample("vscode-chat", "chatSessions/log.jsonl", "file", _vscode_log),
    "openhands": Sample("openhands", "c1/events/event-00001-00000001.json", "file", _openhands),
    "opencode-tree": Sample("opencode", "storage/part/msg_1/prt_10.json", "file", _opencode_tree),
    "opencode-1": Sample("opencode", "opencode.db", "database", _opencode_1),
    "opencode-export": Sample("opencode", "session.json", "file", _opencode_export),
    "opencode-2": Sample("opencode", "opencode.db", "database", _opencode_2),
}


class Result(NamedTuple):
    """What was read: the names of the agents, all texts, and the problems."""

    names: list[str]
    heard: str
    problems: list[str]


def read_all(tool_name: str, root: Path) -> Result:
    """Read everything that a tool finds, as an import does; check that the records are accounted for."""
    tool: Tool = tool_named(tool_name)
    found = tool.discover(root)
    names, heard, problems = [], [], list(map(str, found.problems))
    for source in found.sources:
        reading: Reading = tool.open(source)
        names.append(source.conversation)
        try:
            if isinstance(reading, LogFile):
                heard += [str(logged.event.get("content")) for logged in reading.events()]
                continue
            for step in reading.steps():
                if isinstance(step, About):
                    names.append(source.conversation + step.part)
                heard += _texts(step)
        except OSError as error:
            problems.append(f"{source.path}: {error.strerror or error}")
        finally:
            counts = reading.counts
            assert counts.read == counts.mapped + counts.ignored.total() + counts.unknown.total()
            problems += map(str, counts.problems)
    return Result(names, "\n".join(heard), problems)


def _texts(step: Step) -> Iterator[str]:
    match step:
        case Said():
            yield from (str(block.get("text", block)) for part in step.parts for block in part.blocks)
        case Compacted():
            yield from _texts(step.summary)
        case Kept():
            yield f"{step.content} {step.data}"
