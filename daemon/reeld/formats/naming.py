"""Ids of tool calls, names of tools, and families of models: what all four providers understand by a name."""

import re
from hashlib import sha256

from reel.strict_json import Json

# The strictest limits of the four (rules X6 and G11).
_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_ID_DIGITS = 24
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
# 54 readable characters, an underscore on either side, and 8 hexadecimal digits are 64.
_READABLE, _NAME_DIGITS = 54, 8
# What tells the releases of one model apart: dates, revisions, channels.
_RELEASE = re.compile(
    r"([-@](\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2,4}|\d{3})|-v\d+(:\d+)?|-(latest|preview|exp|experimental))+$"
)
# What clouds and routers put before the name: "models/", "anthropic/", "us.anthropic.".
_ROUTE = re.compile(r"^(.*/)?([a-z-]+\.)*(?=[a-z])")


def sent_id(given: str, used: dict[str, None], seq: int, index: int) -> str:
    """Return the id under which a call and its result are sent (rule X6).

    It is the given one if every provider accepts it and no earlier call has it; else a hash. The hash is of the id
    alone if that is enough, so that a clone, whose seqs are others, sends the same.

    Args:
        given: the id as it is stored.
        used: the ids that were sent before.
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
    """Return the name under which a tool is sent: the given one, or what is readable of it and a hash (rule X6).

    Different names stay different, as APIs require of the tools of a request (rules A13 and G11).
    """
    if _NAME.fullmatch(given):
        return given
    readable = _NOT_IN_NAME.sub("_", given)[:_READABLE]
    return f"{'' if _NAME.fullmatch(readable) else '_'}{readable}_{_hash(given)[:_NAME_DIGITS]}"


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def family(model: str) -> str:
    """Return the family of a model: its name without route, date, revision and channel."""
    return _RELEASE.sub("", _ROUTE.sub("", model.lower())).replace(".", "-")


def same_family(made_by: str | None, target: str | None) -> bool:
    """Whether one model accepts what another one signed; an unknown model is given the benefit of the doubt."""
    return not made_by or not target or family(made_by) == family(target)


def why_not_transferable(block: Json, provider: str, model: str | None) -> str | None:
    """Return why a block that only its maker can read must not be sent to a provider and model (rule X7).

    Args:
        block: thinking, or an opaque block.
        provider: the provider that is to receive it.
        model: its model; ``None`` if it does not matter or is not known.
    """
    kind = "an opaque block" if block["type"] == "opaque" else "thinking"
    if block.get("provider") != provider:
        return f"{kind} of {block.get('provider') or 'an unknown provider'}"
    if not same_family(block.get("model"), model):
        return f"{kind} of another model, {block['model']}"
    return None
