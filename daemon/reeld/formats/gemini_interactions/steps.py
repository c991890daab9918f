"""The steps and contents of the Interactions API that it accepts back unchanged; reading and writing share them.

The keys are those of the types of google-genai 3.4 (rule I6).
"""

from typing import Any

from reel.base.strict_json import Json
from reel.providers.metadata import opaque_object, restore_keys
from reeld.formats.fields import Shape, shapes_of

_PROVIDER = "gemini"
_CALL, _RESULT = "_call", "_result"
# The types that the value of a key must have.
_TYPES: dict[str, tuple[type, ...]] = {
    "id": (str,),
    "call_id": (str,),
    "arguments": (dict,),
    "result": (list, dict, str),
}


# The steps of tools that the server runs: calls and their results.
_SERVER_STEPS = shapes_of(
    {
        "code_execution_call": "id! arguments! signature",
        "code_execution_result": "call_id! result! is_error signature",
        "file_search_call": "id! signature",
        "file_search_result": "call_id! signature",
        "google_maps_call": "id! arguments signature",
        "google_maps_result": "call_id! result! signature",
        "google_search_call": "id! arguments! search_type signature",
        "google_search_result": "call_id! result! is_error signature",
        "mcp_server_tool_call": "id! arguments! name! server_name!",
        "mcp_server_tool_result": "call_id! result! name server_name",
        "processing_call": "id! signature",
        "processing_result": "call_id! signature",
        "retrieval_call": "id! arguments! retrieval_type signature",
        "retrieval_result": "call_id! is_error signature",
        "tool_search_call": "id! arguments! signature",
        "tool_search_result": "call_id! result signature",
        "url_context_call": "id! arguments! signature",
        "url_context_result": "call_id! result! is_error signature",
    }
)
# The keys of media beside their data or URL, by the type of their content.
BESIDE_MEDIA = {
    "image": ("resolution",),
    "document": ("processing", "resolution"),
    "audio": ("channels", "processing", "sample_rate"),
    "video": ("name", "processing", "resolution"),
}
_CONTENTS = shapes_of({kind: " ".join(("data", "mime_type", "uri", *keys)) for kind, keys in BESIDE_MEDIA.items()})


def kind_of_media(mime_type: str) -> str:
    """Return the content type for media of a MIME type: unlisted types are documents."""
    kind = mime_type.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def server_step(block: Json) -> Json | None:
    """Return the step of an opaque block in the form to send; ``None`` if it is not one of a server tool."""
    return _stripped(opaque_object(block), _SERVER_STEPS)


def is_call(step: Json) -> bool:
    """Whether a step of a server tool is the call."""
    kind: str = step["type"]
    return kind.endswith(_CALL)


def content_part(block: Json) -> Json | None:
    """Return the content of an opaque block; ``None`` if it is not one.

    A file uploaded to Google is stored in the form of generateContent, so that it can be sent to both APIs (rule G10).
    """
    found = opaque_object(block) or {}
    file = found.get("fileData")
    if type(file) is dict and type(file.get("fileUri")) is str and type(file.get("mimeType")) is str:
        kind = kind_of_media(file["mimeType"])
        beside = restore_keys(block.get("provider_metadata"), _PROVIDER, BESIDE_MEDIA[kind])
        return {"type": kind, "uri": file["fileUri"], "mime_type": file["mimeType"], **beside}
    return media_part(found)


def media_part(found: Json) -> Json | None:
    """Return media with the keys that the API knows; ``None`` if an object is not media with data or a URL."""
    part = _stripped(found, _CONTENTS)
    return part if part is not None and any(type(part.get(key)) is str for key in ("data", "uri")) else None


def lone_signature(block: Json) -> str | None:
    """Return the signature of an opaque block that holds only a signature, as in generateContent (rule G3)."""
    found = opaque_object(block) or {}
    signature = found.get("thoughtSignature")
    return signature if found.keys() <= {"thought", "thoughtSignature"} and type(signature) is str else None


def _stripped(found: Json | None, shapes: dict[str, Shape]) -> Json | None:
    """Return an object without the keys that the API does not know; ``None`` if it has none of these shapes."""
    kind = found.get("type") if found else None
    shape = shapes.get(kind) if type(kind) is str else None
    if found is None or shape is None or not all(map(_is_valid, shape.required, map(found.get, shape.required))):
        return None
    kept = {key: value for key, value in found.items() if key in shape.allowed and value not in (None, "")}
    return kept if all(map(_is_valid, kept, kept.values())) else None


def _is_valid(key: str, value: Any) -> bool:
    """Whether a key has a value of its type; ids and names are not empty."""
    return type(value) in _TYPES.get(key, (type(value),)) and value is not None and (key not in _IDS or value != "")


_IDS = ("id", "call_id", "name", "server_name")
