"""Defines a dialect: the differences between a server's Chat Completions and OpenAI's."""

import re
from collections.abc import Callable, Mapping, Sequence

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.providers.content import url_of
from reeld.formats.model import Piece
from reeld.formats.naming import sent_id
from reeld.formats.openai import PICTURES, filename


def hears(model: str | None) -> bool:
    """Whether a model accepts audio, judging by its name (rule C7)."""
    return model is None or "audio" in model


def file_part(block: Json) -> Json:
    """Return a file in OpenAI's form."""
    return {"type": "file", "file": {"filename": filename(block), "file_data": url_of(block)}}


class Media(NamedTuple):
    """The media that a server accepts from the user.

    Args:
        pictures: the types of pictures.
        picture_urls: whether a picture may be a URL.
        files: whether it accepts PDFs.
        hears: whether a model accepts audio.
        file_part: the content part of a file.
    """

    pictures: tuple[str, ...] = PICTURES
    picture_urls: bool = True
    files: bool = True
    hears: Callable[[str | None], bool] = hears
    file_part: Callable[[Json], Json] = file_part


TEXT_ONLY = Media((), picture_urls=False, files=False, hears=lambda _model: False)
PICTURES_ONLY = Media(files=False, hears=lambda _model: False)


class Reasoning(NamedTuple):
    """How reasoning goes back to the model that it came from.

    Args:
        add: an assistant's message with its reasoning: the message, the thoughts (there may be none), and the ids under
            which the turn's calls are sent, by those that they were given.
        in_loops_only: whether the server ignores reasoning outside of a tool loop, so that it is not sent.
    """

    add: Callable[[Json, Sequence[Json], Mapping[str, str]], Json]
    in_loops_only: bool = False


def no_call_keys(_piece: Piece, _model: str | None, *, is_first: bool) -> Json:  # noqa: ARG001 - as in Dialect
    """Return no keys beside a call."""
    return {}


class Dialect(NamedTuple):
    """A dialect.

    Args:
        name: its name in the protocol.
        server: its name in reports.
        models: matches the names of the models that have this dialect wherever they are served.
        is_openai: whether it has OpenAI's own features: custom tools, refusals, spoken answers and uploaded files that
            go back by their ids, cache breakpoints, the role ``developer``.
        instructions_anywhere: whether system messages may come after the first one.
        names: whether a message of the user's may name its speaker.
        media: the media that it accepts.
        null_content: whether the content of an assistant's message with calls may be null.
        one_text: whether several texts of a message are sent as one string.
        alternates: whether user and assistant must take turns; neighbouring messages of one role become one.
        bridges: whether the assistant must speak between results and the user's words.
        sent_id: the id under which a call is sent, as in :class:`~reeld.formats.format.Format`.
        reasoning: how reasoning goes back; ``None`` if it does not.
        call_keys: the keys beside a call: the piece of the call, the model, whether it is the first of its message.
        message_keys: the keys beside an assistant's content: the message's metadata, the model.
        signed_in: the name of the dialect, if only the same one reads what is signed in it.
        reads_past: whether ``extra`` makes the server read the reasoning of earlier turns too.
    """

    name: str
    server: str
    models: re.Pattern[str] | None = None
    is_openai: bool = False
    instructions_anywhere: bool = True
    names: bool = True
    media: Media = Media()
    null_content: bool = False
    one_text: bool = True
    alternates: bool = False
    bridges: bool = False
    sent_id: Callable[[str, Mapping[str, None], int, int], str] = sent_id
    reasoning: Reasoning | None = None
    call_keys: Callable[..., Json] = no_call_keys
    message_keys: Callable[[Json, str | None], Json] = lambda _metadata, _model: {}
    signed_in: str | None = None
    reads_past: Callable[[Json], bool] = lambda _extra: False


def text_of(thoughts: Sequence[Json]) -> str:
    """Return the text of some thoughts; one may have none but what another server keeps beside it."""
    return "\n\n".join(thought["text"] for thought in thoughts if thought["text"].strip())
