"""The endpoint of Gemini's that is compatible with OpenAI: signatures are beside the calls (rules D9 and D10)."""

import re

from reel.strict_json import Json
from reeld.formats.content import url_of
from reeld.formats.gemini.rules import is_signing
from reeld.formats.gemini.write import UNSIGNED
from reeld.formats.metadata import restore_keys
from reeld.formats.model import Piece
from reeld.formats.naming import reads
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_chat.dialects.dialect import Dialect, Media


def _call_keys(piece: Piece, model: str | None, *, is_first: bool) -> Json:
    """Return the signature beside a call; the first call of a message needs one, if only a dummy (rule D9)."""
    own = _own(piece.block.get("provider_metadata") or {}, piece.metadata, model)
    if own or not (is_first and is_signing(model)):
        return own
    return {"extra_content": {"google": {"thought_signature": UNSIGNED}}}


def _message_keys(metadata: Json, model: str | None) -> Json:
    """Return the signature beside a text (rule D9)."""
    return _own(metadata, metadata, model)


def _own(metadata: Json, of_message: Json, model: str | None) -> Json:
    """Return the signature that came with an answer, if it was this model's."""
    if not reads(model, of_message.get("model"), of_message):
        return {}
    kept = restore_keys(metadata, PROVIDER, ("extra_content",))
    match kept:
        case {"extra_content": {"google": {"thought_signature": str(signature)}}} if signature:
            return kept
    return {}


def _file_part(block: Json) -> Json:
    """Return a file as the URL of a picture: the endpoint knows no other part for it (rule D10)."""
    return {"type": "image_url", "image_url": {"url": url_of(block)}}


DIALECT = Dialect(
    "gemini",
    "Gemini's compatible endpoint",
    re.compile(r"(models/)?gemini-.+"),
    instructions_anywhere=False,
    names=False,
    media=Media(hears=lambda _model: True, file_part=_file_part),
    null_content=True,
    alternates=True,
    bridges=True,
    call_keys=_call_keys,
    message_keys=_message_keys,
)
