"""An answer of Anthropic's API, read."""

from reeld.formats import metadata as native
from reeld.formats.anthropic.blocks import ANSWERED, PROVIDER, is_known
from reeld.formats.anthropic.content import blocks_of
from reeld.formats.fields import Json, Response, about_answer, refuse_error, refused


def read(body: Json, model: str | None = None) -> Response:
    """Read a response body.

    Args:
        body: the whole object, with its ``content``.
        model: who answered, where the body does not say.

    Raises:
        InvalidMessage: the body holds no answer; ``data.field`` is the place.
    """
    refuse_error(body)
    if "content" not in body:
        raise refused("content", "is missing; this is no response of Anthropic's")
    made_by = body.get("model") or model
    blocks = blocks_of(body["content"], "content", made_by)
    for index, block in enumerate(blocks):
        if block["type"] == "tool_result":
            raise refused(f"content[{index}]", "a tool_result is no part of an answer")
        if block["type"] == "opaque" and not is_known(str((native.object_of(block) or {}).get("type"))):
            block["provider_metadata"] = {"provider": PROVIDER, ANSWERED: True}
    usage = body["usage"] if isinstance(body.get("usage"), dict) else None
    about = about_answer(
        PROVIDER,
        model=made_by,
        response_id=body.get("id"),
        finish_reason=body.get("stop_reason"),
        usage=usage,
    )
    content = blocks or [{"type": "text", "text": ""}]
    return Response({"role": "assistant", "content": content, "provider_metadata": about}, usage)
