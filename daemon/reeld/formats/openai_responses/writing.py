"""Blocks in the words of Responses: parts, messages, calls and outputs."""

from collections.abc import Callable, Sequence
from typing import Any

from reeld.formats import metadata as native
from reeld.formats.arguments import as_text
from reeld.formats.content import shortest, texts_of
from reeld.formats.dataurl import url_of
from reeld.formats.fields import Json
from reeld.formats.format import Page
from reeld.formats.ids import sent_id
from reeld.formats.model import Answer
from reeld.formats.openai import PROVIDER, admitting, filename, input_of
from reeld.formats.openai_responses.calls import KINDS
from reeld.formats.openai_responses.whole import CALLS, RESULTS, held, part_in, whole

DETAILS = ("low", "high", "auto", "original")
_CITED = ("url", "title", "start_index", "end_index")
PHASES = ("commentary", "final_answer")
# What stands for a screen that nobody saw: one black pixel.
_NO_SCREEN = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="
)


def part_of(block: Json, spoken: str = "input_text") -> Json:
    """Give the content part of a block that is one; ``spoken`` is the type of a text."""
    metadata = block.get("provider_metadata")
    mark = native.given_back(metadata, PROVIDER, ("prompt_cache_breakpoint",))
    if block["type"] == "opaque":
        return part_in(block) or {}
    if block["type"] == "media":
        return {**_media_part(block), **mark}
    if spoken == "input_text":
        return {"type": spoken, "text": block["text"], **mark}
    if native.given_back(metadata, PROVIDER, ("refusal",)):
        return {"type": "refusal", "refusal": block["text"]}
    return {"type": spoken, "text": block["text"], **_annotations(metadata)}


def _annotations(metadata: Json | None) -> Json:
    kept = native.given_back(metadata, PROVIDER, ("annotations", "logprobs"))
    lists = {key: value for key, value in kept.items() if type(value) is list}
    if "annotations" in lists:
        lists["annotations"] = [found for found in map(_annotation, lists["annotations"]) if found is not None]
    return {key: value for key, value in lists.items() if value}


def _annotation(given: Any) -> Any:
    """Give an annotation; Chat Completions nests what it cites, of which nothing may be missing here."""
    cited = given.get("url_citation") if type(given) is dict else None
    if type(cited) is not dict:
        return given
    found = {key: cited[key] for key in _CITED if cited.get(key) is not None}
    return {"type": "url_citation", **found} if len(found) == len(_CITED) else None


def _media_part(block: Json) -> Json:
    if block["mime_type"].startswith("image/"):
        detail = native.given_back(block.get("provider_metadata"), PROVIDER, ("detail",))
        how = detail if detail.get("detail") in DETAILS else {}
        return {"type": "input_image", "image_url": url_of(block), **how}
    if block.get("url") is not None:
        return {"type": "input_file", "file_url": block["url"]}
    return {"type": "input_file", "filename": filename(block), "file_data": url_of(block)}


def content_of(blocks: Sequence[Json], spoken: str = "input_text") -> str | list[Json]:
    """Give the content of a message or an output; ``spoken`` is the type of a text."""
    return shortest([part_of(block, spoken) for block in blocks])


def kind_of(metadata: Json, sent: str) -> str:
    """Tell which kind of call a tool_call is sent as; its answer must be of the same kind.

    Args:
        metadata: the call's own.
        sent: the id that it is sent with.
    """
    kind = native.given_back(metadata, PROVIDER, ("type",)).get("type")
    if kind == "custom_tool_call" or _kept_call(metadata, kind, sent) is not None:
        return str(kind)
    return "function_call"


def _kept_call(metadata: Json, kind: Any, sent: str) -> Json | None:
    """Give the item that a call was kept as; one with an id of its own is sent once, later ones as plain calls."""
    item = whole(native.given_back(metadata, PROVIDER, ("item",)).get("item"), CALLS)
    if item is None or item["type"] != kind:
        return None
    given = item[KINDS[item["type"]].named]
    return None if "id" in item and (type(given) is not str or sent_id(given, {}, 0, 0) != sent) else item


def call_of(block: Json) -> Json:
    """Give a call, in the kind in which it was made."""
    metadata: Json = block.get("provider_metadata") or {}
    kind = kind_of(metadata, block["id"])
    kept = native.given_back(metadata, PROVIDER, ("namespace", "caller", "async"))
    if kind == "function_call":
        plain = {"type": kind, "call_id": block["id"], "name": block["name"], "arguments": as_text(block["arguments"])}
        return {**plain, **kept}
    if kind == "custom_tool_call":
        plain = {"type": kind, "call_id": block["id"], "name": block["name"], "input": input_of(block["arguments"])}
        return {**plain, **kept}
    item = _kept_call(metadata, kind, block["id"]) or {}
    return item if KINDS[kind].named == "id" else {**item, "call_id": block["id"]}


def output_of(answer: Answer, page: Page) -> Json:
    """Give the output of a call, in the kind that its call asks for."""
    kind = kind_of(answer.call.metadata, answer.call.id)
    shape = KINDS[kind]
    call_id = answer.call.given if shape.named == "id" else answer.call.id
    kept = (held(block, RESULTS) for block in answer.blocks if block["type"] == "opaque")
    item = next((item for item in kept if item is not None and item["type"] == shape.output), None)
    if item is not None:
        return {**item, shape.names: call_id}
    parts = [block for block in answer.blocks if block["type"] != "opaque" or part_in(block) is not None]
    if kind in _MADE:
        return {"type": shape.output, shape.names: call_id, **_MADE[kind](texts_of(parts), parts, answer.failed)}
    # A function's output answers a search for tools as well.
    parts = admitting(answer, parts, page)
    output = "function_call_output" if kind == "tool_search_call" else shape.output
    kept_keys = native.given_back(answer.metadata, PROVIDER, ("caller",))
    return {"type": output, "call_id": call_id, "output": content_of(parts), **kept_keys}


def _screen(_text: str, parts: list[Json], _failed: bool) -> Json:  # noqa: FBT001 - one of a table
    seen = next((url_of(block) for block in parts if block["type"] == "media"), _NO_SCREEN)
    return {"output": {"type": "computer_screenshot", "image_url": seen}}


def _shell(text: str, _parts: list[Json], failed: bool) -> Json:  # noqa: FBT001 - one of a table
    return {"output": [{"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": int(failed)}}]}


def _patch(text: str, _parts: list[Json], failed: bool) -> Json:  # noqa: FBT001 - one of a table
    return {"status": "failed" if failed else "completed", "output": text}


def _local(text: str, _parts: list[Json], _failed: bool) -> Json:  # noqa: FBT001 - one of a table
    return {"output": text}


def _approval(text: str, _parts: list[Json], _failed: bool) -> Json:  # noqa: FBT001 - one of a table
    """Nobody has approved: consent is only what was given as such."""
    return {"approve": False, "reason": text}


# Outputs of kinds of their own, made from a plain result: from its text, its parts, and whether it failed.
_MADE: dict[str, Callable[[str, list[Json], bool], dict[str, Any]]] = {
    "computer_call": _screen,
    "shell_call": _shell,
    "apply_patch_call": _patch,
    "local_shell_call": _local,
    "mcp_approval_request": _approval,
}
