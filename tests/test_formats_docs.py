"""What docs/formats.md says about the formats is true of the code."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, get_args

from reel.providers.changes import Action
from reeld.formats.body import RenderRequest
from reeld.formats.render import render
from reeld.formats.table import FORMATS
from tests.daemon import Daemon
from tests.formats.checker import check
from tests.patience import PATIENCE
from tests.reel.streams.samples.anthropic import ANTHROPIC
from tests.reel.streams.samples.openai_responses import RESPONSES
from tests.reeld.formats.histories import (
    Json,
    call,
    entries_of,
    model,
    opaque,
    prompt_in,
    result,
    text,
    thinking,
    tool,
    user,
)

_ROOT = Path(__file__).parent.parent
_DOCUMENT = (_ROOT / "docs" / "formats.md").read_text()
_MODELS = {
    "openai-chat": "gpt-5.2",
    "openai-responses": "gpt-5.2",
    "anthropic": "claude-opus-5",
    "gemini": "gemini-3-pro",
    "gemini-interactions": "gemini-3-pro",
    "ollama": "qwen3:8b",
    "bedrock-converse": "anthropic.claude-opus-5",
    "ai-sdk": None,
    "langchain": None,
}
# It stands in what a row is about, as it is and in base64.
_MARK, _MARK_BASE64 = "MARK", "TUFSS"


def media(mime_type: str) -> Json:
    return {"type": "media", "mime_type": mime_type, "data_base64": _MARK_BASE64 + "w=="}


def item(provider: str, by: str, value: Json) -> Json:
    return opaque(json.dumps(value), provider, model=by)


def searched(by: str) -> list[Json]:
    return [
        item("anthropic", by, value)
        for value in (
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": _MARK}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        )
    ]


_SEARCH = searched("claude-opus-5")
_REASONING = item("openai", "gpt-5.2", {"type": "reasoning", "summary": [], "encrypted_content": _MARK})
_CODE = item("gemini", "gemini-3-pro", {"executableCode": {"language": "PYTHON", "code": _MARK}})
_STEPS = [
    item("gemini", "gemini-3-pro", value)
    for value in (
        {"type": "google_search_call", "id": "s1", "arguments": {"queries": [_MARK]}},
        {"type": "google_search_result", "call_id": "s1", "result": []},
    )
]
_GROUNDED = [
    item("bedrock", "anthropic.claude-opus-5", value)
    for value in (
        {"toolUse": {"toolUseId": "s1", "name": "nova_grounding", "input": {}, "type": "server_tool_use"}},
        {"toolResult": {"toolUseId": "s1", "content": [], "type": "nova_grounding_result"}},
    )
]
_CUSTOM = item("ai-sdk", "x", {"type": "custom", "kind": "a.b"})
_SIGNED: Json = {"provider": "gemini", "model": "gemini-3-pro", "signature": _MARK_BASE64 + "w=="}
_LOST: dict[str, list[Any]] = {
    "texts, tool calls, results": [user("x"), model(call()), tool(result(content=_MARK))],
    "truncated arguments": [user("x"), model(call(arguments='{"a": "MARK'))],
    "images from the user": [user(media("image/png"))],
    "PDFs from the user": [user(media("application/pdf"))],
    "GIFs from the user": [user(media("image/gif"))],
    "audio": [user(media("audio/wav"))],
    "images from the assistant": [user("x"), model(media("image/png"), "y")],
    "images in results": [user("x"), model(call()), tool(result(content=[text("y"), media("image/png")]))],
    "Anthropic thinking": [user("x"), model(thinking(_MARK, model="claude-opus-5"), "y")],
    "Anthropic thinking of another model family": [
        user("x"),
        model(thinking(_MARK, model="claude-haiku-4-5"), "y"),
    ],
    "Gemini thinking": [user("x"), model(thinking(_MARK, provider="gemini", model="gemini-3-pro"), "y")],
    "Gemini signatures": [user("x"), model(text("y", provider_metadata=_SIGNED))],
    "Gemini server tools of `generateContent`": [user("x"), model(_CODE, "y")],
    "Gemini server tools of Interactions": [user("x"), model(*_STEPS, "y")],
    "Ollama thinking": [user("x"), model(thinking(_MARK, None, "ollama", model="qwen3:8b"), "y")],
    "Bedrock reasoning": [user("x"), model(thinking(_MARK, "x", "bedrock", model="anthropic.claude-opus-5"), "y")],
    "OpenAI reasoning items": [user("x"), model(_REASONING, "y")],
    "Anthropic server tools": [user("x"), model(*_SEARCH, "y")],
    "Anthropic server tools of another model family": [user("x"), model(*searched("claude-haiku-4-5"), "y")],
    "Anthropic cache breakpoints": [
        user(text("x", provider_metadata={"provider": "anthropic", "cache_control": {"type": _MARK}}))
    ],
}
# For the words that a provider has for a thing: a conversation, and what makes the thing the provider's own.
_SAID: dict[str, list[Any]] = {
    "system prompt": [{"role": "system", "content": "Be brief."}, user("x")],
    "roles": [user("x"), model("y")],
    "`tool_call`": [user("x"), model(call())],
    "its `arguments`": [user("x"), model(call())],
    "`tool_result`": [user("x"), model(call()), tool(result())],
    "`media`, an image": [user(media("image/png"))],
    "`media`, a PDF": [user(media("application/pdf"))],
    "`thinking`": [
        user("x"),
        model(
            thinking(model="claude-opus-5"),
            thinking(provider="gemini", model="gemini-3-pro"),
            thinking("hm", None, "ollama", model="qwen3:8b"),
            thinking("hm", "c2ln", "bedrock", model="anthropic.claude-opus-5"),
            "y",
        ),
    ],
    "`redacted_thinking`": [
        user("x"),
        model(
            {"type": "redacted_thinking", "data": "x", "provider": "anthropic", "model": "claude-opus-5"},
            {"type": "redacted_thinking", "data": "dGFwZQ==", "provider": "bedrock"},
            "y",
        ),
    ],
    "`opaque` of its own": [user("x"), model(*_SEARCH, _REASONING, _CODE, *_STEPS, *_GROUNDED, _CUSTOM, "y")],
}


def rendered(messages: list[Any], name: str) -> str:
    """Return the body, once the user has spoken again."""
    entries = entries_of([*messages, user("Go on.")])
    return render(RenderRequest(name, model=_MODELS[name]), entries, prompt_in(entries))[0].body


def goes_over(messages: list[Any], name: str) -> str:
    """Whether what is marked is sent."""
    body = rendered(messages, name)
    return "yes" if _MARK in body or _MARK_BASE64 in body else "no"


def table(heading: str) -> dict[str, list[str]]:
    """Return the first table under a heading: the cells of each row by its first one."""
    section = _DOCUMENT.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {row[0]: row[1:] for row in rows if not row[0].startswith("---")}


def test_the_table_of_what_is_lost_is_true() -> None:
    """What it says is sent is sent, and nothing else."""
    told = table("What is lost from one to another")
    formats = [cell.strip("`") for cell in told.pop("")]

    assert list(FORMATS) == formats
    assert told == {
        row: [
            ("no", "yes")[any(mark in rendered(messages, name) for mark in (_MARK, _MARK_BASE64))] for name in formats
        ]
        for row, messages in _LOST.items()
    }


def test_the_table_of_what_maps_to_what_is_true() -> None:
    """Each provider's key is in the body that it is sent."""
    told = table("What maps to what")
    formats = [cell.strip("`") for cell in told.pop("")]

    assert list(_SAID) == list(told)
    missing = [
        (row, name, word)
        for row, cells in told.items()
        for name, cell in zip(formats, cells, strict=True)
        for word in re.findall(r"`(\w+)`", cell)
        if f'"{word}"' not in rendered(_SAID[row], name)
    ]
    assert [] == missing


def test_the_table_of_report_actions_is_complete() -> None:
    """Every action that a report may have is explained."""
    assert list(get_args(Action)) == [word.strip("`") for word in list(table("The report"))[1:]]


_CURL = """#!/bin/sh
case "$*" in
*api.anthropic.com*) cat > "$HERE/anthropic.sent"; cat "$HERE/anthropic.answer" ;;
*) cat > "$HERE/openai.sent"; cat "$HERE/openai.answer" ;;
esac
"""


def test_the_script_of_the_tour_works(daemon: Daemon, tmp_path: Path) -> None:
    """It works as it is: one provider answers, then another, and each gets a body that it accepts."""
    tour = (_ROOT / "docs" / "tour.md").read_text()
    (script,) = re.findall(r"^```bash\n(.*?)^```", tour, re.DOTALL | re.MULTILINE)
    (tmp_path / "curl").write_text(_CURL)
    (tmp_path / "curl").chmod(0o755)
    (tmp_path / "anthropic.answer").write_bytes(ANTHROPIC.data)
    (tmp_path / "openai.answer").write_text(json.dumps(RESPONSES.body))
    environment = {**os.environ, "REEL_SOCKET": daemon.socket, "HERE": str(tmp_path)}
    environment |= {"ANTHROPIC_API_KEY": "key", "OPENAI_API_KEY": "key", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with daemon.client() as client:
        client.create("demo")
        command = ["bash", "-euo", "pipefail", "-c", script.replace("$PWD/.venv/bin:$PATH", "$PATH:$PWD/.venv/bin")]
        ran = subprocess.run(
            command, env=environment, cwd=_ROOT, text=True, capture_output=True, timeout=PATIENCE, check=False
        )
        roles = [message["role"] for message in client.messages("demo").messages]

    assert 0 == ran.returncode, ran.stderr
    assert ANTHROPIC.text in ran.stdout
    assert ["user", "assistant", "user", "assistant"] == roles
    assert [] == check("anthropic", json.loads((tmp_path / "anthropic.sent").read_text()))
    sent = json.loads((tmp_path / "openai.sent").read_text())
    assert [] == check("openai_responses", sent)
    assert ANTHROPIC.text in json.dumps(sent)
