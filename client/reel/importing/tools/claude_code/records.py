"""The records of Claude Code's transcripts, each converted on its own.

No schema is published. The meaning of a record is derived from its content, not from the version that wrote it.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode
from reel.base.values import new_tuple
from reel.importing.sources.blocks import anthropic_blocks, by_role, fitting
from reel.importing.steps import Kept, Part, Said
from reel.importing.tools.claude_code.prompts import RULE, SNAPSHOT
from reel.importing.values import digest, list_in, map_in, milliseconds, other_fields, text_in
from reel.providers.anthropic import PROVIDER
from reel.providers.blocks import text as text_block
from reel.providers.refusals import Refusals

# Records that contribute nothing to the conversation, or only repeat others.
IGNORED = {
    "progress": "progress of a tool",
    "file-history-snapshot": "state of files",
    "queue-operation": "queue of prompts",
    "last-prompt": "last prompt",
    "mode": "mode",
    "permission-mode": "mode",
    "continued-in": "link to another session",
    "agent-setting": "setting",
    "marble-origami-commit": "setting",
    "atis-latch": "setting",
    "tools-used": "list of tools",
    "cost-state": "costs so far",
    "worktree-state": "worktree",
    # Whole requests, again and again: what they say is in the other records.
    "api-request": "request",
    "api-request-shape": "request",
    "api-request-blob": "request",
}
# The same for subtypes of system records, and for attachments; and suffixes of the names of others.
_IGNORED_SYSTEM = {
    "turn_duration": "duration",
    "stop_hook_summary": "hook",
    "microcompact_boundary": "cache of results",
    "file_snapshot": "state of files",
}
_KNOWN_SYSTEM = (
    *("api_error", "informational", "local_command", "away_summary", "compact_boundary"),
    "model_refusal_no_fallback",
)
_IGNORED_ATTACHMENTS = {
    "hook_": "hook",
    "_delta": "list of tools",
    "_listing": "list of tools",
    "_reminder": "reminder",
    "command_permissions": "mode",
    SNAPSHOT: RULE,
}
# Events of hooks whose output the model gets.
_HEARD_HOOKS = ("SessionStart", "UserPromptSubmit")
# Records about the conversation as a whole, and the field with their content.
FACTS = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle", "agent-name": "agentName"}
_PR_LINK = ("prUrl", "url")
# The model name that Claude Code uses for text of no model, such as an API error.
_SYNTHETIC = "<synthetic>"
# An answer that Claude Code itself puts into the conversation, and sends.
_NO_RESPONSE = "No response requested."
# The types of the records that are messages.
SPOKEN = ("user", "assistant")
# Fields of a record that identify its origin, kept beside the message.
_ORIGINS = ("isMeta", "promptSource", "permissionMode", "origin", "isVisibleInTranscriptOnly")

# The fields of records that become messages of which something is made, or that say where a record belongs.
_FIELDS = frozenset(
    {
        *("type", "uuid", "parentUuid", "sessionId", "timestamp", "message", "attachment", "requestId", *_ORIGINS),
        *("cwd", "gitBranch", "version", "isSidechain", "agentId", "isCompactSummary", "sessionKind"),
    }
)
_MESSAGE_FIELDS = frozenset({"id", "type", "role", "content", "model", "stop_reason", "usage"})
_ATTACHMENT_FIELDS = frozenset({"type", "prompt", "systemPrompt"})


class Meaning(NamedTuple):
    """What a record of the chain says.

    Args:
        said: its messages, in order; a prompt may come together with results.
        kept: the log record that it becomes instead of messages, if any.
        joins: whether it continues a message, rather than being a person's decision about where to go on: a result, or
            a prompt that was typed while the model worked.
        beside: whether the program put it beside a message: it may be left behind like a result, but does not join what
            follows another predecessor.
        answer: the id of the answer that it is a part of, if it is the assistant's.
        usage: the usage of that answer so far.
    """

    said: tuple[Said, ...] = ()
    kept: Kept | None = None
    joins: bool = False
    beside: bool = False
    answer: str = ""
    usage: Kept | None = None


class Record(NamedTuple):
    """A record, and all that can be told of it alone, whatever is before it in its file.

    Args:
        found: the record.
        line: its line.
        kind: its type.
        uuid: its id, which later records refer to.
        parent: the uuid of the record that it follows; empty if it follows none, ``None`` if it has no such field.
        rule: the name of the rule that ignores it; empty if none does.
        unknown: its type if no rule covers that, else empty.
        meaning: what it says; nothing if a rule ignores it.
        left_out: those of its fields that this does not have.
        session: what it says of the session, as :func:`session_of` returns it.
        model: the model that its message names; may be empty.
        refused: the types of blocks in it that were refused.
    """

    found: Json
    line: int
    kind: str
    uuid: str
    parent: str | None
    rule: str
    unknown: str
    meaning: Meaning
    left_out: Sequence[str]
    session: tuple[Any, ...]
    model: str
    refused: Sequence[str]


def read_record(found: Json, line: int, refusals: Refusals) -> Record:
    """Read a record of the chain.

    Args:
        found: the record.
        line: its line.
        refusals: keeps damaged blocks.
    """
    kind, uuid = text_in(found, "type"), text_in(found, "uuid")
    message = map_in(found, "message")
    if kind in SPOKEN:
        rule, unknown = "", "" if "content" in message else f"{kind} without content"
    else:
        rule = _rule_for(kind, found)
        unknown = "" if rule else _unknown_type(kind, found)
    if rule:
        meaning = Meaning()
    elif kind == "system" or not unknown:
        meaning = _READERS[kind](found, message, uuid, line, refusals)
    else:
        meaning = Meaning(kept=unknown_record(found, line))
    left_out = () if unknown else _left_out_of(kind, found, message)
    session, model, refused = session_of(found), text_in(message, "model"), refusals.taken()
    parent = text_in(found, "parentUuid") if "parentUuid" in found else None
    told = found, line, kind, uuid, parent, rule, unknown, meaning, left_out, session, model, refused
    return new_tuple(Record, told)


def session_of(found: Json) -> tuple[Any, ...]:
    """Return what a record says of the session, as it is: where it runs, what began it, its branch, and the version."""
    return found.get("cwd"), found.get("entrypoint"), found.get("gitBranch"), found.get("version")


def _rule_for(kind: str, found: Json) -> str:
    """Return the name of the rule that ignores a record; empty if none does."""
    if kind == "system":
        return _IGNORED_SYSTEM.get(text_in(found, "subtype"), "")
    if kind == "attachment":
        what = text_in(map_in(found, "attachment"), "type")
        if _heard(found) is not None:
            return ""
        return next(
            (rule for sign, rule in _IGNORED_ATTACHMENTS.items() if what.startswith(sign) or what.endswith(sign)), ""
        )
    return IGNORED.get(kind, "")


def _unknown_type(kind: str, found: Json) -> str:
    """Return the type of a record that no rule covers; empty if one does."""
    if kind == "system":
        subtype = text_in(found, "subtype")
        return "" if subtype in _KNOWN_SYSTEM or not subtype else f"system/{subtype}"
    return "" if kind == "attachment" else kind or "without a type"


def _left_out_of(kind: str, found: Json, message: Json) -> Sequence[str]:
    """Return the fields of a record that its messages do not have; a record that becomes a note is kept whole."""
    if _FIELDS.issuperset(found) and _MESSAGE_FIELDS.issuperset(message) and not found.get("attachment"):  # as most
        return ()
    attachment = map_in(found, "attachment")
    if (
        (kind == "assistant" and not _is_error(found, message, text_in(message, "model")))
        or kind == "user"
        or (kind == "attachment" and (_is_queued(attachment) or text_in(attachment, "type") == SNAPSHOT))
    ):
        return [
            *other_fields(found, _FIELDS),
            *other_fields(message, _MESSAGE_FIELDS, "message."),
            *other_fields(attachment, _ATTACHMENT_FIELDS, "attachment."),
        ]
    return ()


def _user(found: Json, message: Json, uuid: str, line: int, refusals: Refusals) -> Meaning:
    blocks = anthropic_blocks(message.get("content"), refusals)
    said = _messages(found, uuid, by_role(blocks, "user", refusals), line)
    joins = {one.role for one in said} <= {"tool"}
    return new_tuple(Meaning, (said, None, joins, False, "", None))


def _messages(found: Json, uuid: str, runs: list[tuple[str, list[Json]]], line: int) -> tuple[Said, ...]:
    metadata: dict[str, Any] = {}
    if not found.keys().isdisjoint(_ORIGINS):  # as in few
        origins = {key: found[key] for key in _ORIGINS if type(found.get(key)) in (str, bool)}
        metadata = {"claude_code": origins} if origins else {}
    when = milliseconds(found.get("timestamp")), line
    said = []
    for number, (role, run) in enumerate(runs, 1):
        # The last one has the id itself: the next record follows all of them.
        ref = uuid if number == len(runs) else f"{uuid}/{number}"
        said.append(_said(role, ref, run, metadata if role == "user" else {}, when))
    return tuple(said)


def _said(role: str, ref: str, blocks: list[Json], metadata: Json, when: tuple[int | None, int]) -> Said:
    """Return a message of one part, sent at a time and read in a line: most records are one."""
    return new_tuple(Said, (role, (new_tuple(Part, (ref, blocks)),), metadata, *when))


def _assistant(found: Json, message: Json, uuid: str, line: int, refusals: Refusals) -> Meaning:
    sent = milliseconds(found.get("timestamp"))
    answer, model, reason = text_in(message, "id"), text_in(message, "model"), text_in(message, "stop_reason")
    if _is_error(found, message, model):
        return Meaning(kept=_note(found, uuid, sent, line, _text_of(message.get("content"))))
    made = anthropic_blocks(message.get("content"), refusals, model)
    blocks = [fitting(block, "assistant", refusals) for block in made]
    told = _told(model, answer)
    metadata = {**told, "finish_reason": reason} if reason else told
    said = (_said("assistant", uuid, blocks, metadata, (sent, line)),) if blocks else ()
    usage, counted = map_in(message, "usage"), None
    if usage:
        ref = _usage_ref(answer or uuid, text_in(found, "requestId"))
        counted = new_tuple(Kept, ("usage", ref, None, {**told, "usage": usage}, sent, line))
    return new_tuple(Meaning, (said, None, False, False, answer or uuid, counted))


def _is_error(found: Json, message: Json, model: str) -> bool:
    """Whether an answer is text of Claude Code itself."""
    if found.get("isApiErrorMessage") is True:
        return True
    return model == _SYNTHETIC and _text_of(message.get("content")) != _NO_RESPONSE


def _is_queued(attachment: Json) -> bool:
    return text_in(attachment, "type") == "queued_command" and attachment.get("prompt") not in (None, "", [])


def _told(model: str, answer: str) -> Json:
    """Return what is known of an answer."""
    told = {"provider": PROVIDER}
    if model:
        told["model"] = model
    if answer:
        told["response_id"] = answer
    return told


@lru_cache(maxsize=16)  # each of the records of an answer says it again
def _usage_ref(answer: str, request: str) -> str:
    return f"usage-{digest(answer, request)}"


def _system(found: Json, _message: Json, uuid: str, line: int, _refusals: Refusals) -> Meaning:
    sent = milliseconds(found.get("timestamp"))
    text = text_in(found, "content")
    if text and text_in(found, "subtype") == "local_command":  # the model gets it as a user's message
        metadata = {"claude_code": {"subtype": "local_command"}}
        return Meaning((Said("user", (Part(uuid, [text_block(text)]),), metadata, sent, line),))
    return Meaning(kept=_note(found, uuid, sent, line, text or None))


def _attachment(found: Json, _message: Json, uuid: str, line: int, refusals: Refusals) -> Meaning:
    """Read an attachment that Claude Code put beside a prompt, such as a prompt typed while the model worked."""
    attachment, sent = map_in(found, "attachment"), milliseconds(found.get("timestamp"))
    if _is_queued(attachment):
        blocks = anthropic_blocks(attachment.get("prompt"), refusals)
        return Meaning(_messages(found, uuid, by_role(blocks, "user", refusals), line), joins=True)
    if (heard := _heard(found)) is not None:
        role = text_in(found, "renderedRole") or "system"
        metadata = {"claude_code": {"renderedRole": role, "attachment": text_in(attachment, "type")}}
        said = Said("user", (Part(uuid, anthropic_blocks(heard, refusals)),), metadata, sent, line)
        return Meaning((said,), joins=True, beside=True)
    return Meaning(kept=_note(found, uuid, sent, line, None))


def _heard(found: Json) -> Any:
    """Return what the model gets of an attachment, such as what a hook printed; ``None`` if it gets nothing."""
    attachment = map_in(found, "attachment")
    if _is_queued(attachment):
        return None
    rendered = [content for one in list_in(found, "rendered") if type(one) is dict and (content := one.get("content"))]
    if rendered:
        return [block for content in rendered for block in _as_blocks(content)]
    name = text_in(attachment, "hookName") or text_in(attachment, "hookEvent")
    content = attachment.get("content")
    text = "\n".join(one for one in content if type(one) is str) if type(content) is list else content
    kind = text_in(attachment, "type")
    if not text or type(text) is not str:
        return None
    if kind == "hook_additional_context":
        return f"<system-reminder>\n{name} hook additional context: {text}\n</system-reminder>"
    if kind == "hook_success" and text_in(attachment, "hookEvent") in _HEARD_HOOKS:
        return f"<system-reminder>\n{name} hook success: {text}\n</system-reminder>"
    return None


def _as_blocks(content: Any) -> list[Any]:
    return content if type(content) is list else [{"type": "text", "text": content}]


def _note(found: Json, uuid: str, sent: int | None, line: int, text: str | None) -> Kept:
    return Kept("note", uuid, text, {"claude_code": encode(found)}, sent, line)


_READERS = {"user": _user, "assistant": _assistant, "attachment": _attachment, "system": _system}


def unknown_record(found: Json, line: int) -> Kept:
    """Return a record of an unknown type as a note."""
    sent = milliseconds(found.get("timestamp"))
    return _note(found, text_in(found, "uuid"), sent, line, None)


def _text_of(content: Any) -> str | None:
    # The whole record is kept beside it.
    blocks = anthropic_blocks(content, Refusals(PROVIDER))
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    return "\n".join(texts) or None


def link_in(found: Json) -> str:
    """Return the address in a record about a pull request."""
    return next((text for key in _PR_LINK if (text := text_in(found, key))), "")
