"""What Responses takes, and where the prompt stands (``formats.md`` section 2)."""

from reeld.formats import metadata as native
from reeld.formats.dataurl import mime_of
from reeld.formats.families import foreign
from reeld.formats.fields import Json
from reeld.formats.format import Head, Holder, Page, Prompt
from reeld.formats.openai import PICTURES, PROVIDER, by_message
from reeld.formats.openai_responses.turns import words
from reeld.formats.openai_responses.whole import CLIENTS, RESULTS, SERVERS, held, is_reasoning, part_in
from reeld.formats.prompt import kept_pieces


def refuses(block: Json, holder: Holder, model: str | None) -> str | None:
    """Say why a block that is no text cannot be sent."""
    kind = block["type"]
    if kind == "opaque":
        return _refuses_opaque(block, holder, model)
    if kind != "media":
        return foreign(block, PROVIDER, None) or "Responses takes reasoning back as items only"
    return "media from the assistant" if holder == "assistant" else _refuses_media(block)


def _refuses_media(block: Json) -> str | None:
    mime_type = mime_of(block)
    ours = (block.get("provider_metadata") or {}).get("provider") == PROVIDER
    if mime_type.startswith(("audio/", "video/")):
        return f"media of type {mime_type}"
    if mime_type in PICTURES or not mime_type.startswith("image/") or ours or block.get("url") is not None:
        return None
    return f"media of type {mime_type}"


def _refuses_opaque(block: Json, holder: Holder, model: str | None) -> str | None:
    if (why := foreign(block, PROVIDER, None)) is not None:
        return why
    if native.given_back(block.get("provider_metadata"), PROVIDER, ("format",)):
        return "a block of Chat Completions"
    if holder in ("result", "failed"):
        return None if held(block, RESULTS) or part_in(block) else "no output of a call"
    if holder == "user":
        return None if held(block, CLIENTS) or part_in(block) else "no item that a client sends"
    if held(block, SERVERS) is None:
        unread = is_reasoning(block)
        return "reasoning without encrypted_content" if unread else "no item that the API takes back whole"
    return foreign(block, PROVIDER, model)


def identity(block: Json) -> str | None:
    """Give the id of an item that is sent with it: the API takes no two items with one."""
    name = (held(block, SERVERS) or {}).get("id")
    return name if type(name) is str else None


def head(prompt: Prompt | None, page: Page) -> Head:
    """Put the prompt into the instructions; of several messages the first, if it is the system's."""
    if prompt is None:
        return Head({}, [])
    messages = [item for group in by_message(kept_pieces(PROVIDER, prompt)) for item in words(group, page)]
    if not messages:
        return Head({"instructions": prompt.text}, [])
    if messages[0]["role"] == "system" and type(messages[0]["content"]) is str:
        return Head({"instructions": messages[0]["content"]}, messages[1:])
    return Head({}, messages)
