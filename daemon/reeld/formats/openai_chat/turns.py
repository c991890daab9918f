"""Turns in the words of Chat Completions: entries of ``messages``."""

from collections.abc import Iterator, Sequence

from reeld.formats import metadata as native
from reeld.formats.fields import Json
from reeld.formats.format import Page
from reeld.formats.model import Answer, AssistantTurn, Piece, Turn, UserTurn
from reeld.formats.openai import PROVIDER, admitting, by_message
from reeld.formats.openai_chat.writing import call_of, content_of, named, part_of, words


def entries(turn: Turn, page: Page) -> list[Json]:
    """Give the messages that a turn becomes: the results directly after their calls, each message of its own."""
    if isinstance(turn, UserTurn):
        return [*_answers(turn.answers, page), *(words(pieces, page) for pieces in by_message(turn.said))]
    return list(_spoken(turn, page))


def _answers(answers: Sequence[Answer], page: Page) -> Iterator[Json]:
    """Give the results; the media of all of them come after, for only a user can show any."""
    shown: list[Json] = []
    for answer in answers:
        blocks = answer.blocks
        texts = admitting(answer, [block for block in blocks if block["type"] == "text"], page)
        media = [part_of(block) for block in blocks if block["type"] == "media"]
        if media and answer.piece is not None:
            page.note(answer.piece, "moved", "media of a result stand in a user message after all results")
            title = f"Media of the result of {answer.call.name} ({answer.call.id}):"
            shown += [{"type": "text", "text": title}, *media]
        yield {"role": "tool", "tool_call_id": answer.call.id, "content": content_of(texts)}
    if shown:
        yield {"role": "user", "content": shown}


def _spoken(turn: AssistantTurn, page: Page) -> Iterator[Json]:
    """Give what the assistant said, message by message; all calls stand in the last one, where results follow."""
    calls = [piece for piece in turn.pieces if piece.block["type"] == "tool_call"]
    said = list(by_message([piece for piece in turn.pieces if piece.block["type"] != "tool_call"]))
    if calls and not (said and any(said[-1][0].message is call.message for call in calls)):
        said.append([])
    for pieces in said:
        calling = calls if pieces is said[-1] else []
        yield _message(pieces, calling, page)


def _message(pieces: Sequence[Piece], calls: Sequence[Piece], page: Page) -> Json:
    first = (*pieces, *calls)[0]
    name = named(first, native.given_back(first.metadata, PROVIDER, ("name",)), page)
    blocks = [piece.block for piece in pieces]
    texts = [block for block in blocks if block["type"] == "text"]
    refusals = [block["text"] for block in texts if _is_refusal(block)]
    said = [block for block in texts if not _is_refusal(block)]
    sound = [native.object_of(block) or {} for block in blocks if block["type"] == "opaque"]
    message: Json = {"role": "assistant", "content": content_of(said) if said else None, **name}
    if refusals:
        message["refusal"] = "\n".join(refusals)
    if sound:
        message["audio"] = {"id": sound[-1]["audio"]["id"]}
    if calls:
        message["tool_calls"] = [call_of(call.block) for call in calls]
    return message


def _is_refusal(block: Json) -> bool:
    return native.given_back(block.get("provider_metadata"), PROVIDER, ("refusal",)) != {}
