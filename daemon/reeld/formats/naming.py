"""Ids of tool calls, names of tools, and families of models, in forms that every provider accepts."""

import re
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

from reel.base.strict_json import Json

# The metadata key for the requested model if another name answered: the request named an alias or a deployment.
ASKED_MODEL = "asked_model"
# The metadata key of the dialect in which something was signed, if signatures are valid in only one (rule G13).
DIALECT = "dialect"
# The metadata keys of signatures: the common one, and what Chat Completions has (rule D9).
_SIGNATURES = frozenset({"signature", "extra_content", "extra_content_json"})
# The metadata key of the hash of what an answer is bound to (rule A8).
PREFIX = "prefix"
# The strictest limits of all providers (rules X6 and G11).
_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_ID_DIGITS = 24
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
# 54 readable characters, an underscore on either side, and 8 hexadecimal digits are 64.
_READABLE, _NAME_DIGITS = 54, 8
# The parts that distinguish releases of one model: dates, revisions, channels, and the context size ("[1m]").
_RELEASE = re.compile(
    r"([-@](\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2,4}|\d{3})|-v\d+(:\d+)?|[-@](latest|default)|-(preview|exp|experimental)"
    r"|\[[^\]]*\])+$"
)
# The prefixes that clouds and routers add: "models/", "anthropic/", "us.anthropic.", "arn:aws:…:inference-profile/".
_ROUTE = re.compile(r"^(.*/)?([a-z-]+\.)*(?=[a-z])")


def sent_id(given: str, used: Mapping[str, None], seq: int, index: int) -> str:
    """Return the id under which a call and its result are sent (rule X6).

    This is the stored id if every provider accepts it and no earlier call has it; otherwise it is a hash. If possible,
    only the id is hashed, so that a clone, which has other seqs, sends the same id.

    Args:
        given: the id as it is stored.
        used: the ids that were sent earlier in the request.
        seq: the seq of the call's message.
        index: the number of its block.
    """
    if _ID.fullmatch(given) and given not in used:
        return given
    hashed = f"call_{_hash(given)[:_ID_DIGITS]}"
    if not _ID.fullmatch(given) and hashed not in used:
        return hashed
    return f"call_{_hash(f'{given} {seq} {index}')[:_ID_DIGITS]}"


def sent_name(given: str) -> str:
    """Return the name under which a tool is sent: the given name, or its valid characters and a hash (rule X6).

    Different names stay different, because the tools of a request must have different names (rules A13 and G11).
    """
    if _NAME.fullmatch(given):
        return given
    readable = _NOT_IN_NAME.sub("_", given)[:_READABLE]
    return f"{'' if _NAME.fullmatch(readable) else '_'}{readable}_{_hash(given)[:_NAME_DIGITS]}"


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def family(model: str) -> str:
    """Return the family of a model: its name without the route, date, revision and channel."""
    return _RELEASE.sub("", _ROUTE.sub("", model.lower())).replace(".", "-")


def same_family(made_by: str | None, target: str | None) -> bool:
    """Return whether one model accepts the signatures of another; if a model is unknown, assume that it does."""
    return not made_by or not target or family(made_by) == family(target)


def reads(target: str | None, made_by: Any, metadata: Json) -> bool:
    """Return whether a model accepts the parts of an answer that only their maker can read (rule X16).

    It does if its name is the one that answered, or the one that was asked for.

    Args:
        target: the model; ``None`` if it is not known.
        made_by: the name that the answering model gave itself. It is untrusted.
        metadata: the metadata of the block, which may contain the name that was asked for.
    """
    names = [name for name in (made_by, metadata.get(ASKED_MODEL)) if name and type(name) is str]
    return not names or any(same_family(name, target) for name in names)


def note_asked_model(message: Json, asked: str | None) -> None:
    """Store the requested name in each block that only its model can read, if another name answered (rule X16)."""
    metadata = message["provider_metadata"]
    if not asked or same_family(metadata.get("model"), asked):
        return
    metadata[ASKED_MODEL] = asked
    for block in message["content"]:
        if block.get("model"):
            block["provider_metadata"] = {"provider": block["provider"], **block.get("provider_metadata", {})}
        if block.get("model") or block.get("provider_metadata", {}).get("model"):
            block["provider_metadata"][ASKED_MODEL] = asked


def with_dialect(prefix: str, dialect: str | None) -> str:
    """Return the hash of a prefix, followed by the dialect. The answer brings both back, also to another daemon."""
    return prefix if dialect is None else f"{prefix}@{dialect}"


def note_dialect(message: Json, prefix: str, dialects: Collection[str]) -> None:
    """Store the dialect that an answer's prefix names, if it does, in each block that is signed (rule G13)."""
    dialect = prefix.rpartition("@")[2]
    if dialect not in dialects:
        return
    if _is_signed(message["provider_metadata"]):
        message["provider_metadata"][DIALECT] = dialect
    for block in message["content"]:
        metadata = block.get("provider_metadata", {})
        if "signature" in block or _is_signed(metadata) or block["type"] == "opaque":
            provider = block.get("provider") or metadata.get("provider")
            block["provider_metadata"] = {"provider": provider, **metadata, DIALECT: dialect}


def _is_signed(metadata: Json) -> bool:
    """Whether something came with a signature."""
    return not _SIGNATURES.isdisjoint(metadata)


def signed_elsewhere(block: Json, dialect: str | None) -> str | None:
    """Return the other dialect in which a block was signed; ``None`` if it was signed in this one, or in none."""
    return None if dialect is None else made_elsewhere(block.get("provider_metadata") or {}, dialect)


def made_elsewhere(metadata: Json, dialect: str | None) -> str | None:
    """Return the other dialect of what has such metadata; one that is not known is not another."""
    made_in = metadata.get(DIALECT)
    return None if dialect is None or made_in is None or made_in == dialect else str(made_in)


def why_signature_lost(block: Json, provider: str, model: str | None, dialect: str | None = None) -> str | None:
    """Return why the signature of a text, a call or media cannot be sent; ``None`` if it can, or has no signature."""
    metadata = block.get("provider_metadata") or {}
    if not metadata.get("signature"):
        return None
    if metadata.get("provider") != provider:
        return f"the signature of {metadata.get('provider') or 'an unknown provider'}"
    made_by = metadata.get("model")
    if not reads(model, made_by, metadata):
        return f"the signature of another model, {made_by}"
    other = made_elsewhere(metadata, dialect)
    return None if other is None else f"the signature of {other}"


def why_not_transferable(block: Json, provider: str, model: str | None, *, moves: bool = False) -> str | None:
    """Return why a block that only its maker can read must not be sent to this provider and model (rule X7).

    Args:
        block: thinking, or an opaque block.
        provider: the provider of the request.
        model: its model; ``None`` if it does not matter or is not known.
        moves: whether the model reads the block also if another provider made it.
    """
    kind = "an opaque block" if block["type"] == "opaque" else "thinking"
    if not moves and block.get("provider") != provider:
        return f"{kind} of {block.get('provider') or 'an unknown provider'}"
    if not reads(model, block.get("model"), block.get("provider_metadata") or {}):
        return f"{kind} of another model, {block['model']}"
    return None
