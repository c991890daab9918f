"""Histories for the tests of the formats: messages as entries of a conversation, and strategies of hostile ones."""

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from reel.wire.msgpack_codec import packer
from reeld.core.conversation import Conversation
from reeld.core.events import Entry, read
from reeld.core.events import entry as entry_of
from reeld.core.recent import Earlier
from reeld.core.validation import rows_from

Json = dict[str, Any]
pack = packer()


def entries_of(messages: Iterable[Any]) -> list[Entry]:
    """Return the entries of added messages; their seqs count from 1, their ids from 101."""
    given = list(messages)
    rows = rows_from(given)[0] if given else []
    found = []
    for seq, (row, _) in enumerate(rows, 1):
        message, tools = read(pack, *row[:3], seq, 0)
        found.append(entry_of(100 + seq, seq, row.kind, row.content, row.data_json, 0, message, tools))
    return found


def earlier_of(entries: list[Entry]) -> Earlier | None:
    """Return what is known of entries that are not looked at."""
    if not entries:
        return None
    before = Conversation(entries)
    return Earlier(before.sum_up(entries[-1]), before.message_count, tuple(before.open_calls), first=entries[0].seq)


def prompt_in(entries: Sequence[Entry]) -> Entry | None:
    """Return the newest system event."""
    return next((entry for entry in reversed(entries) if entry.kind == "system"), None)


def text(words: str = "Hi", **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def call(of: str = "c1", name: str = "look", arguments: str = "{}", **more: Any) -> Json:
    return {"type": "tool_call", "id": of, "name": name, "arguments": arguments, **more}


def result(of: str = "c1", content: Any = "done", **more: Any) -> Json:
    return {"type": "tool_result", "tool_call_id": of, "content": content, **more}


def thinking(
    words: str = "hm", signature: str | None = "c2ln", provider: str | None = "anthropic", **more: Any
) -> Json:
    return {"type": "thinking", "text": words, "signature": signature, "provider": provider, **more}


def opaque(data_json: str, provider: str = "anthropic", **more: Any) -> Json:
    return {"type": "opaque", "provider": provider, "data_json": data_json, **more}


def user(*blocks: Json | str, **metadata: Any) -> Json:
    return _message("user", blocks, metadata)


def model(*blocks: Json | str, **metadata: Any) -> Json:
    return _message("assistant", blocks, metadata)


def tool(*blocks: Json) -> Json:
    return _message("tool", blocks, {})


def _message(role: str, blocks: Sequence[Json | str], metadata: Json) -> Json:
    content = [text(block) if isinstance(block, str) else block for block in blocks]
    return {"role": role, "content": content, **({"provider_metadata": metadata} if metadata else {})}


IMAGE = {"type": "media", "mime_type": "image/png", "data_base64": "AAAA"}
PDF = {"type": "media", "mime_type": "application/pdf", "url": "https://example.org/a.pdf"}
SOUND = {"type": "media", "mime_type": "audio/wav", "data_base64": "AAAA"}
# A text that is in metadata only: no body may contain it.
LEAK = "LEAKED"

_IDS = st.sampled_from(["c1", "c2", "c3", "toolu_01", "functions.look:0", "x" * 41, "a|b", "ü"])
_NAMES = st.sampled_from(["look", "a.b", "1st", "y" * 70, "ü", "_x-1"])
_ARGUMENTS = st.sampled_from(["{}", "", '{"a": 1.0}', "[]", '{"a":', '"x"', '{"a":"\\ud800"}', '{"a": 1e999}', "null"])
_WORDS = st.sampled_from(["Hi", "", " ", "\n", "x ", "Late result of look (c1): done"])
_MODELS = st.sampled_from([None, "claude-opus-4-8", "gemini-3-pro-preview", "gpt-5"])
_PROVIDERS = st.sampled_from(["anthropic", "gemini", "openai", "ollama", "bedrock"])
_MARK: Json = {"provider": "anthropic", "cache_control": {"type": "ephemeral"}}
_METADATA = st.sampled_from([
    {},
    {"provider_metadata": _MARK},
    {"provider_metadata": {"provider": "gemini", "signature": "c2ln", "model": "gemini-3-pro-preview"}},
    {"provider_metadata": {"provider": "gemini", "response_json": '{"a":1}'}},
    {"provider_metadata": {
        "provider": "openai",
        "type": "custom_tool_call",
        "reasoning_details_json": '[{"type":"reasoning.text","text":"hm","id":"functions.look:0"}]',
        "extra_content_json": '{"google":{"thought_signature":"c2ln"}}',
    }},
    {"provider_metadata": {"provider": "bedrock", "cachePoint_json": '{"type":"default"}', "guard": True}},
    {"provider_metadata": {"provider": "bedrock", "citations_json": "[]", "json": True}},
    {"provider_metadata": {"provider": "other", "note": LEAK, "cache_control": LEAK}},
    {"provider_metadata": {"note": LEAK}},
])  # fmt: skip
_NATIVE = st.sampled_from([
    '{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}',
    '{"type":"server_tool_use","id":"s2","name":"web_search","input":{}}',
    '{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}',
    '{"type":"web_search_tool_result","tool_use_id":"s2","content":[]}',
    '{"type":"document","source":{"type":"file","file_id":"f"},"cache_control":{"type":"ephemeral"}}',
    '{"type":"tool_addition","tool":{"type":"tool_reference","name":"look"}}',
    '{"type":"tool_reference","tool_name":"look"}',
    '{"type":"tool_use","id":"c1","name":"look","input":{}}',
    '{"toolCall":{"toolType":"x","id":"t1"}}',
    '{"toolResponse":{"toolType":"x","id":"t1"}}',
    '{"executableCode":{"code":"1"}}',
    '{"thoughtSignature":"c2ln"}',
    '{"fileData":{"fileUri":"x"}}',
    '{"text":"x"}',
    '{"type":"google_search_call","id":"s1","arguments":{},"signature":"c2ln"}',
    '{"type":"google_search_result","call_id":"s1","result":[]}',
    '{"type":"document","uri":"x","mime_type":"application/pdf"}',
    '{"type":"tool-call","toolCallId":"s1","toolName":"web_search","input":{},"providerExecuted":true}',
    '{"type":"tool-result","toolCallId":"s1","toolName":"web_search","output":{"type":"json","value":[]}}',
    '{"type":"custom","kind":"a.b"}',
    '{"type":"reasoning","summary":[],"encrypted_content":"AAAA"}',
    '{"type":"web_search_call","id":"ws_1","status":"completed"}',
    '{"toolUse":{"toolUseId":"b1","name":"x","input":{},"type":"server_tool_use"}}',
    '{"toolResult":{"toolUseId":"b1","content":[{"text":"x"}],"type":"x"}}',
    '{"document":{"name":"a.b","source":{"text":"x"}}}',
    '{"searchResult":{"source":"x","title":"x","content":[{"text":"x"}]}}',
    "[]",
    "1e999",
])  # fmt: skip


def _block(kind: str, **fields: Any) -> st.SearchStrategy[Json]:
    return st.builds(
        lambda found, more: {"type": kind, **{key: value for key, value in found.items() if value is not None}, **more},
        st.fixed_dictionaries(fields),
        _METADATA,
    )


_TEXTS = _block("text", text=_WORDS)
_CALLS = _block("tool_call", id=_IDS, name=_NAMES, arguments=_ARGUMENTS)
_THOUGHTS = _block(
    "thinking", text=_WORDS, signature=st.sampled_from([None, "c2ln"]), provider=_PROVIDERS | st.none(), model=_MODELS
)
_HIDDEN = _block("redacted_thinking", data=st.just("AAAA"), provider=_PROVIDERS | st.none(), model=_MODELS)
_OPAQUE = _block("opaque", provider=_PROVIDERS | st.just("ai-sdk"), data_json=_NATIVE, model=_MODELS)
_MEDIA = st.sampled_from([IMAGE, PDF, SOUND])
_INNER = st.lists(st.one_of(_TEXTS, _MEDIA, _OPAQUE), min_size=1, max_size=3)
_RESULTS = _block("tool_result", tool_call_id=_IDS, content=_WORDS | _INNER, is_error=st.booleans())
_ROLES = st.sampled_from([{}, {}, {"role": "system"}, {"role": "developer", "provider": "openai"}, {"note": LEAK}])

MESSAGES = st.one_of(
    st.builds(
        lambda blocks, metadata: {"role": "user", "content": blocks, "provider_metadata": metadata},
        st.lists(st.one_of(_TEXTS, _TEXTS, _MEDIA, _OPAQUE), min_size=1, max_size=3),
        _ROLES,
    ),
    st.builds(
        lambda blocks: {"role": "assistant", "content": blocks},
        st.lists(st.one_of(_TEXTS, _CALLS, _CALLS, _THOUGHTS, _HIDDEN, _OPAQUE, _MEDIA), min_size=1, max_size=5),
    ),
    st.builds(lambda blocks: {"role": "tool", "content": blocks}, st.lists(_RESULTS, min_size=1, max_size=4)),
    st.sampled_from([
        {"kind": "note", "content": LEAK},
        {"kind": "usage", "data_json": f'{{"note":"{LEAK}"}}'},
        {"kind": "interrupted", "content": LEAK},
        {"role": "system", "content": "Be brief"},
        {"role": "system", "content": ""},
        "Hi",
    ]),
)  # fmt: skip
HISTORIES = st.lists(MESSAGES, max_size=14)
