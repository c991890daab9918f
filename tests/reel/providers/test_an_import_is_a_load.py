"""An import reads a provider's item as ``reel load`` does; what that refuses is kept whole, and counted."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from reel.base.errors import InvalidMessage
from reel.base.strict_json import encode
from reel.importing.sources.blocks import anthropic_blocks, by_role
from reel.importing.sources.gemini_parts import Parts
from reel.importing.sources.responses_items import Items
from reel.importing.steps import Said
from reel.importing.tools.jsonl.messages import Chat
from reel.importing.tools.jsonl.tool import TOOL
from reel.providers.refusals import Refusals
from reel.said.blocks import InvalidRecord, check_blocks
from reeld.formats.ingest import read_request
from tests.reel.importing import rollouts, transcripts
from tests.reeld.formats.item_samples import PICTURE, SAMPLES

Json = dict[str, Any]
MODEL = "the-model"


def text(said: str) -> Json:
    """Return a text block."""
    return {"type": "text", "text": said}


KEYS = {"anthropic": "messages", "gemini": "contents", "openai-chat": "messages", "openai-responses": "input"}
PDF = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}
CITED = {"type": "output_text", "text": "So", "annotations": [{"type": "url_citation", "url": "http://x"}]}
ITEMS: dict[str, list[Json]] = {
    "anthropic": [
        *SAMPLES["anthropic"],
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
                {"type": "image", "source": {"type": "url", "url": "http://x"}, "cache_control": {"type": "ephemeral"}},
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}},
                {"type": "document", "source": {"type": "file", "file_id": "f"}, "title": "T"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [{"type": "text", "text": "a"}],
                    "is_error": True,
                },
                "bare",
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "redacted_thinking", "data": "AAAA"},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "tool_use", "id": "t", "name": "look", "input": {}},
            ],
        },
    ],
    "gemini": [
        *SAMPLES["gemini"],
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "weather", "args": {"a": 1}}}, {"functionCall": {"name": "weather"}}],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "weather", "response": {"output": "hot"}}},
                {"functionResponse": {"name": "weather", "response": {"error": "no"}, "parts": [{"text": "x"}]}},
                {"fileData": {"fileUri": "gs://x", "mimeType": "video/mp4"}, "videoMetadata": {"fps": 2}},
                {"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}, "videoMetadata": {"fps": 2}},
                {"executableCode": {"code": "1"}},
                "bare",
            ],
        },
    ],
    "openai-chat": [
        *SAMPLES["openai-chat"],
        {
            "role": "user",
            "content": [
                {"type": "input_audio", "input_audio": {"format": "mp3", "data": "AAAA"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF["file_data"]}},
                {"type": "file", "file": {"file_id": "f"}},
                {"type": "image_url", "image_url": {"url": "http://x", "detail": "high"}},
            ],
        },
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No"}], "reasoning_content": "Hm"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"type": "custom", "id": "c7", "custom": {"name": "run", "input": "1"}},
                {"function": {"name": "look", "arguments": {"a": 1}}},
            ],
        },
        {"role": "tool", "content": "seen", "name": "look"},
    ],
    "openai-responses": [
        *SAMPLES["openai-responses"][:-1],
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "See"}, PDF]},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_image", "image_url": "http://x", "detail": "high"}],
        },
        {"type": "message", "role": "assistant", "content": [CITED, {"type": "refusal", "refusal": "No"}]},
        {"type": "message", "role": "developer", "content": "Be brief"},
        {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}", "namespace": "n"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "a"}, PDF]},
        {"type": "custom_tool_call", "call_id": "c3", "name": "exec", "input": "1"},
        {"type": "custom_tool_call_output", "call_id": "c3", "output": "2"},
        {"type": "local_shell_call", "call_id": "c4", "id": "l", "action": {"command": ["ls"]}, "status": "completed"},
        {"type": "local_shell_call_output", "id": "c4", "output": "a"},
        {"type": "computer_call", "call_id": "c5", "id": "c", "action": {"type": "click"}, "status": "completed"},
        {"type": "computer_call_output", "call_id": "c5", "output": {"type": "computer_screenshot"}},
        {"type": "function_call_output", "call_id": "lost", "output": ""},
    ],
}
# An item of each API that is in front of each, so that instructions are no prompt.
LEAD = {
    "anthropic": {"role": "user", "content": "Hi"},
    "gemini": {"role": "user", "parts": [{"text": "Hi"}]},
    "openai-chat": {"role": "user", "content": "Hi"},
    "openai-responses": {"role": "user", "content": "Hi"},
}


def loaded(name: str, *items: Any, model: str | None = None) -> list[tuple[str, Json]]:
    """Return what ``reel load`` makes of items: the blocks, each with the role of its message."""
    found = read_request(name, encode({KEYS[name]: [LEAD[name], *items]}), model)
    return blocks(*found.messages)[1:]


def blocks(*messages: Any) -> list[tuple[str, Json]]:
    """Return the blocks of messages, with their roles; a text is a block."""
    found = []
    for message in messages:
        content = message["content"]
        found += [(message["role"], block) for block in ([text(content)] if type(content) is str else content)]
    return found


def said(steps: Iterator[Any]) -> list[tuple[str, Json]]:
    """Return the blocks of the messages among steps, with their roles."""
    return [
        (step.role, block) for step in steps if isinstance(step, Said) for part in step.parts for block in part.blocks
    ]


def imported_from_anthropic(item: Any, refused: Counter[str]) -> list[tuple[str, Json]]:
    """Return what the importers of Claude make of a message."""
    refusals = Refusals("anthropic", refused)
    made = anthropic_blocks(item["content"], refusals)
    role = "assistant" if item["role"] == "assistant" else "user"
    return [(owner, block) for owner, run in by_role(made, role, refusals) for block in run]


def imported_from_gemini(item: Any, refused: Counter[str]) -> list[tuple[str, Json]]:
    """Return what the importer of Gemini CLI makes of a content."""
    role = "assistant" if item.get("role") == "model" else "user"
    return [
        ("tool" if block["type"] == "tool_result" else role, block)
        for block in Parts(refused).read(item["parts"], "1", role)
    ]


def imported_from_responses(item: Any, refused: Counter[str]) -> list[tuple[str, Json]]:
    """Return what the importers of Codex and of the Agents SDK make of an item."""
    made = Items(refused).read(item, "input[1]")
    return [(made.role, block) for block in made.blocks]


def imported_from_chat(item: Any, refused: Counter[str]) -> list[tuple[str, Json]]:
    """Return what the importer of JSON lines makes of a message of Chat Completions."""
    return [(one.role, block) for one in Chat(refused).read(item, 1, is_first=False) for block in one.blocks]


IMPORTED: dict[str, Callable[[Any, Counter[str]], list[tuple[str, Json]]]] = {
    "anthropic": imported_from_anthropic,
    "gemini": imported_from_gemini,
    "openai-chat": imported_from_chat,
    "openai-responses": imported_from_responses,
}


@pytest.mark.parametrize("name", list(ITEMS))
def test_a_request_is_imported_as_it_is_loaded(tmp_path: Path, name: str) -> None:
    """JSON lines with the history of a request become the same blocks of the same roles."""
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({KEYS[name]: [LEAD[name], *ITEMS[name]]}))
    (source,) = TOOL.discover(path).sources
    reading = TOOL.open(source)

    assert loaded(name, *ITEMS[name]) == said(reading.steps())[1:]
    assert {} == reading.counts.refused


@pytest.mark.parametrize("name", list(ITEMS))
def test_messages_keep_what_is_beside_their_content(tmp_path: Path, name: str) -> None:
    """The metadata of a message are those of the loaded one."""
    items = [item for item in ITEMS[name] if item.get("role") in ("user", "developer", "assistant")]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({KEYS[name]: [LEAD[name], *items]}))
    (source,) = TOOL.discover(path).sources
    found = [step.metadata for step in TOOL.open(source).steps() if isinstance(step, Said)]
    expected = read_request(name, encode({KEYS[name]: [LEAD[name], *items]})).messages

    assert [message.get("provider_metadata", {}) for message in expected if "provider_metadata" in message] == [
        metadata for metadata in found if metadata
    ]


def test_a_session_of_claude_code_is_loaded(tmp_path: Path) -> None:
    """The blocks of a transcript are those of Anthropic's API."""
    made = transcripts.Transcript()
    for number, item in enumerate(ITEMS["anthropic"]):
        message = {**item, "id": f"m{number}", **({"model": MODEL} if item["role"] == "assistant" else {})}
        made.record(item["role"], f"u{number}", message=message)
    session = transcripts.session_of(made, tmp_path)
    found = [*session.steps(), *session.end()]

    assert sorted(map(repr, loaded("anthropic", *ITEMS["anthropic"], model=MODEL))) == sorted(
        map(repr, said(iter(found)))
    )


def test_a_rollout_of_codex_is_loaded(tmp_path: Path) -> None:
    """The items of a rollout are those of Responses; a PDF is a file that any provider gets."""
    lines = rollouts.Lines()
    for item in ITEMS["openai-responses"]:
        lines.line("response_item", **item)
    found = said(iter(rollouts.read(lines, tmp_path)))

    assert loaded("openai-responses", *ITEMS["openai-responses"]) == found
    assert ("user", "application/pdf") in [(role, block.get("mime_type")) for role, block in found]


def paths(value: Any, *before: str | int) -> Iterator[tuple[str | int, ...]]:
    """Yield the places of all values in a value."""
    inside = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
    for key, found in inside:
        yield (*before, key)
        yield from paths(found, *before, key)


def damaged(item: Json, place: tuple[str | int, ...], value: Any) -> Json:
    """Return an item with another value in a place."""
    copy: Any = deepcopy(item)
    holder = copy
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return copy  # type: ignore[no-any-return]  # a copy of an item


def mutants(name: str) -> Iterator[Json]:
    """Yield each item with a number, a word, an empty text, a list or nothing in each place but its role."""
    for item in ITEMS[name]:
        for place in paths(item):
            if place not in (("role",), ("parts",)):
                values: tuple[Any, ...] = (5, "word", "", [5], {}, None)
                yield from (damaged(item, place, value) for value in values)


@pytest.mark.parametrize("name", list(ITEMS))
def test_whatever_load_refuses_is_kept_whole_and_counted(name: str) -> None:
    """Of a damaged item, an import keeps what load refuses; what load accepts is imported as it is loaded."""
    refused_items = 0
    for item in mutants(name):
        refused: Counter[str] = Counter()
        found = IMPORTED[name](item, refused)
        expected = valid(name, item)

        assert expected is None or found == expected, item
        assert (expected is None) == (refused.total() > 0), item
        assert expected is not None or '"opaque"' in encode(found), item
        assert valid_blocks(found), item
        refused_items += expected is None

    assert refused_items > 20


def valid(name: str, item: Json) -> list[tuple[str, Json]] | None:
    """Return the blocks that load makes of an item; ``None`` if it is refused, and then with its place."""
    try:
        found = loaded(name, item)
    except InvalidMessage as error:
        if not str(error.data["field"]).startswith(f"{KEYS[name]}[1]"):
            raise
        return None
    return found if valid_blocks(found) else None


def valid_blocks(found: list[tuple[str, Json]]) -> bool:
    """Return whether the daemon accepts blocks in messages of their roles."""
    try:
        for role, block in found:
            check_blocks([block], role, "content")
    except InvalidRecord:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "item", "field", "kept", "counted"),
    [
        (
            "anthropic",
            {"role": "user", "content": [text("Hi"), {"type": "image", "source": 5}]},
            "messages[1].content[1].source",
            {"type": "image", "source": 5},
            "image",
        ),
        (
            "anthropic",
            {"role": "user", "content": [text("Hi"), 5]},
            "messages[1].content[1]",
            {"type": "unknown", "value": 5},
            "an integer",
        ),
        (
            "gemini",
            {"role": "model", "parts": [{"text": "Hi"}, {"functionCall": {"name": 5}}]},
            "contents[1].parts[1].functionCall.name",
            {"functionCall": {"name": 5}},
            "functionCall",
        ),
        (
            "openai-chat",
            {"role": "user", "content": [text("Hi"), {"type": "image_url"}]},
            "messages[1].content[1].image_url",
            {"type": "image_url"},
            "image_url",
        ),
        (
            "openai-responses",
            {"role": "user", "content": [text("Hi"), {"type": "input_text", "text": 5}]},
            "input[1].content[1].text",
            {"type": "input_text", "text": 5},
            "input_text",
        ),
    ],
)
def test_one_damaged_part(name: str, item: Json, field: str, kept: Json, counted: str) -> None:
    """The parts beside a damaged one are read, and it is an opaque block; load names its place."""
    refused: Counter[str] = Counter()
    found = IMPORTED[name](item, refused)

    with pytest.raises(InvalidMessage) as caught:
        loaded(name, item)
    assert field == caught.value.data["field"]
    assert [text("Hi")] == [block for _, block in found][:1]
    assert [kept] == [json.loads(block["data_json"]) for _, block in found[1:]]
    assert {counted: 1} == refused
