"""The rows of llm's database, each converted on its own."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import call_block, made_by
from reel.importing.sources.databases import Database
from reel.importing.steps import Part, Said
from reel.importing.values import list_in, map_in, milliseconds, parse_record, text_in
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.content import shortest
from reel.providers.metadata import opaque_block
from reel.said.blocks import ALLOWED

PROVIDER = "llm"
# The columns of which something is made, or that say where a row belongs; and those fields of a part's payload.
FIELDS = {
    "threads": frozenset({"id", "name", "model", "tip_message_hash", "forked_from"}),
    "turns": frozenset(
        {
            *("id", "thread_id", "parent_message_hash", "tip_message_hash", "datetime_utc"),
            *("model", "resolved_model", "input_tokens", "output_tokens"),
        }
    ),
    "messages": frozenset({"hash", "parent_hash", "role"}),
    "parts": frozenset({"id", "message_hash", "position", "type", "text", "payload"}),
    "responses": frozenset(
        {
            *("id", "conversation_id", "datetime_utc", "prompt", "system", "reasoning", "response"),
            *("model", "resolved_model", "input_tokens", "output_tokens"),
        }
    ),
    "tool_calls": frozenset({"id", "response_id", "name", "arguments", "tool_call_id"}),
    "tool_results": frozenset({"id", "response_id", "name", "output", "tool_call_id", "exception"}),
    "text": frozenset({"text", "text_ref"}),
    "reasoning": frozenset({"text", "text_ref", "provider_metadata"}),
    "tool_call": frozenset({"tool_call_id", "name", "arguments"}),
    "tool_result": frozenset({"tool_call_id", "name", "output", "attachments", "exception"}),
    "attachment": frozenset({"attachment"}),
}
# Counts what is left out of a row, given its table.
Leave: TypeAlias = Callable[[str, Json], None]


def message_blocks(database: Database, name: str, role: str, report: Callable[[str], None], leave: Leave) -> list[Json]:
    """Return the blocks of a message in the newer tables.

    Args:
        database: the database.
        name: the message's hash.
        role: the role of the message; tool results belong to a user.
        report: called with each damaged row.
        leave: called with each row, and with the payload of each part.
    """
    blocks = []
    rows = database.rows("parts", "message_hash", name)
    for row in sorted(rows, key=lambda row: row["position"] if type(row.get("position")) is int else 0):
        try:
            block = _part(database, row, f"{name}-{row.get('position')}", leave)
        except ValueError as error:
            report(f"parts, row {row.get('id')}: not JSON: {error}")
            kept = {key: repr(value) if type(value) is bytes else value for key, value in row.items()}
            block = opaque_block(PROVIDER, {"type": "damaged", **kept})
        blocks.append(block if block["type"] in (*ALLOWED[role], "tool_result") else _other(block, role))
    return blocks


def _other(found: Json, role: str) -> Json:
    return text_block(encode(found)) if role == "system" else opaque_block(PROVIDER, found)


def _part(database: Database, row: Json, made: str, leave: Leave) -> Json:
    kind, payload = text_in(row, "type"), _parsed(row.get("payload"))
    leave("parts", row)
    if kind in FIELDS:
        leave(kind, payload)
    text = text_in(row, "text") or text_in(payload, "text") or _referenced(database, payload)
    if kind == "text":
        return text_block(text)
    if kind == "reasoning":
        signature = text_in(map_in(map_in(payload, "provider_metadata"), "anthropic"), "signature")
        signed = {"provider": "anthropic", "signature": signature} if signature else {"provider": PROVIDER}
        return {"type": "thinking", "text": text, **signed}
    if kind == "tool_call":
        return call_block(text_in(payload, "tool_call_id") or made, text_in(payload, "name"), payload.get("arguments"))
    if kind == "tool_result":
        files = [_attachment(database, text_in(found, "id")) for found in list_in(payload, "attachments")]
        call_id = text_in(payload, "tool_call_id") or made
        return _result(call_id, payload.get("output"), files, failed=bool(text_in(payload, "exception")))
    if kind == "attachment":
        return _attachment(database, text_in(map_in(payload, "attachment"), "id"))
    return opaque_block(PROVIDER, {"type": kind or "unknown", "payload": payload, "text": text})


def _parsed(data: Any) -> Json:
    try:
        return parse_record(data.encode()) or {} if type(data) is str else {}
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _referenced(database: Database, payload: Json) -> str:
    """Return a text, inserting its fragments, which are stored separately."""
    pieces = []
    for piece in list_in(payload, "text_ref"):
        literal = text_in(piece, "literal")
        number = piece.get("fragment") if type(piece) is dict else None
        pieces.append(literal or (text_in(database.row("fragments", number), "content") if type(number) is int else ""))
    return "".join(pieces)


def _result(call_id: str, output: Any, files: list[Json], *, failed: bool) -> Json:
    text = output if type(output) is str else encode(output)
    return tool_result(call_id, shortest([text_block(text), *files]), failed=failed)


def _attachment(database: Database, name: str) -> Json:
    """Return an attachment: its bytes, its URL, or its former path."""
    row = next(iter(database.rows("attachments", "id", name)), {})
    mime = text_in(row, "type") or "application/octet-stream"
    if type(row.get("content")) is bytes and row["content"]:
        return {"type": "media", "mime_type": mime, "data_base64": b64encode(row["content"]).decode()}
    if url := text_in(row, "url"):
        return {"type": "media", "mime_type": mime, "url": url}
    return text_block(f"[file: {text_in(row, 'path') or 'missing'}]")


def response_messages(database: Database, row: Json, prompt: str, leave: Leave) -> Iterator[Said]:
    """Yield the messages of a response in the older tables: the input and the answer.

    Args:
        database: the database.
        row: the response.
        prompt: the system prompt so far.
        leave: called with each row of a call or a result.
    """
    name, sent = text_in(row, "id"), milliseconds(row.get("datetime_utc"))
    system = "\n\n".join(filter(None, [*_fragments(database, "system_fragments", name), text_in(row, "system")]))
    if system and text_in(row, "system") != prompt:
        kept = {"provider": PROVIDER, "role": "system"} if prompt else {}
        yield Said("user" if prompt else "system", (Part(f"{name}/system", [text_block(system)]),), kept, sent)
    results = []
    for number, found in enumerate(database.rows("tool_results", "response_id", name)):
        leave("tool_results", found)
        call_id = text_in(found, "tool_call_id") or f"{name}-{number}"
        results.append(_result(call_id, found.get("output"), [], failed=_failed(found)))
    if results:
        yield Said("tool", (Part(f"{name}/results", results),), {}, sent)
    text = "\n".join(filter(None, [*_fragments(database, "prompt_fragments", name), text_in(row, "prompt")]))
    files = [
        _attachment(database, text_in(found, "attachment_id"))
        for found in database.rows("prompt_attachments", "response_id", name)
    ]
    if text or files or not results:
        yield Said(
            "user", (Part(f"{name}/prompt", [*([text_block(text)] if text or not files else []), *files]),), {}, sent
        )
    thought, answer = text_in(row, "reasoning"), text_in(row, "response")
    blocks = [{"type": "thinking", "text": thought, "provider": PROVIDER}] if thought else []
    blocks += [text_block(answer)] if answer else []
    for number, found in enumerate(database.rows("tool_calls", "response_id", name)):
        leave("tool_calls", found)
        call_id = text_in(found, "tool_call_id") or f"{name}-{number}"
        blocks.append(call_block(call_id, text_in(found, "name"), found.get("arguments")))
    model = text_in(row, "resolved_model") or text_in(row, "model")
    metadata = made_by(PROVIDER, model)
    yield Said("assistant", (Part(name, blocks or [text_block("")]),), metadata, sent)


def _failed(found: Json) -> bool:
    return bool(text_in(found, "exception"))


def _fragments(database: Database, table: str, name: str) -> list[str]:
    numbers = [row.get("fragment_id") for row in database.rows(table, "response_id", name)]
    return [text_in(database.row("fragments", number), "content") for number in numbers if type(number) is int]
