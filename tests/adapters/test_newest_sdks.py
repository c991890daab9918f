"""The newest SDKs of the vendors have no type that nobody has looked at, and what they have is read.

``make adapters`` runs this in an environment of its own, because the frameworks hold some SDKs back.
"""

import json
import re
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from reel.streams.stream import Stream
from reeld.core.validation import rows_from
from reeld.formats.ingest import read_response
from tests.adapters.sdk_types import KNOWN
from tests.adapters.sdk_unions import UNIONS, service_model
from tests.reeld.formats.sending import sent
from tests.sdks.examples import example, members

pytest.importorskip("botocore", reason="the newest SDKs are not installed")
pytest.importorskip("mistralai", reason="the newest SDKs are not installed")

Json = dict[str, Any]
SDKS = ("anthropic", "botocore", "google-genai", "langchain-core", "mistralai", "ollama", "openai")
_FORMATS_PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
_OK: Json = {"type": "text", "text": "OK"}


@pytest.mark.parametrize("name", UNIONS)
def test_no_type_of_a_newest_sdk_is_unknown(name: str) -> None:
    """Each is in the list of those that somebody has looked at."""
    assert set() == UNIONS[name]() - set(KNOWN[name].split())


def test_the_page_says_which_sdks_it_was_tested_with() -> None:
    """The table has the versions that this run sees: after a look at a newer one, write it down, with the date."""
    section = _FORMATS_PAGE.read_text().split("## Tested with\n", 1)[1].split("\n## ", 1)[0]
    told = dict(re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \| \d{4}-\d\d-\d\d \|$", section, re.MULTILINE))

    assert {sdk: version(sdk) for sdk in SDKS} == told


def _members(module: str, name: str) -> list[Any]:
    """Return the members of a union that the SDK knows."""
    found = members(getattr(import_module(module), name))
    return [kind for kind in found if not kind.__name__.startswith("Unknown")]


def test_every_block_of_an_answer_of_anthropic_is_known() -> None:
    """None is kept as a block of a newer type (rule A21)."""
    blocks = [example(kind, full=True) for kind in _members("anthropic.types.beta", "BetaContentBlock")]
    message = read_response("anthropic", json.dumps({"model": "claude-opus-5", "content": [*blocks, _OK]}))[0]

    assert rows_from([message])
    assert [] == [block for block in message["content"] if (block.get("provider_metadata") or {}).get("answered")]


def test_every_part_of_an_answer_of_mistral_is_kept() -> None:
    """It goes back to Mistral, or its loss is reported."""
    for kind in _members("mistralai.client.models.contentchunk", "ContentChunk"):
        part = example(kind, full=True)
        said = {"role": "assistant", "content": [part, _OK]}
        answer = {"model": "mistral-large-latest", "choices": [{"message": said}]}
        message = read_response("openai-chat", json.dumps(answer))[0]
        body, report = sent("openai-chat", ["Hi", message, "And?"], "mistral-large-latest")

        assert rows_from([message])
        if part["type"] != "text":
            assert part["type"] in json.dumps(body) or "dropped" in [change.action for change in report], part


def test_every_block_of_an_answer_of_bedrock_is_kept() -> None:
    """It goes back to the model that made it, or its loss is reported."""
    shapes = service_model()["shapes"]
    for name, of in shapes["ContentBlock"]["members"].items():
        # A result is a client's, and an answer with it is refused; a breakpoint belongs to what is before it.
        if name in ("toolResult", "cachePoint"):
            continue
        block = {name: _example(shapes, of["shape"])}
        response = {"output": {"message": {"role": "assistant", "content": [block, {"text": "OK"}]}}}
        model = "us.anthropic.claude-opus-4-8"
        message = read_response("bedrock-converse", json.dumps(response), model)[0]
        body, report = sent("bedrock-converse", ["Hi", message, "And?"], model)

        assert rows_from([message])
        assert f'"{name}"' in json.dumps(body) or "dropped" in [change.action for change in report], block


def _example(shapes: Json, name: str, depth: int = 0) -> Any:
    """Return a value of a shape: of a union its first member, of others what is required, or all."""
    shape = shapes[name]
    inside: Json = shape.get("members", {})
    match shape["type"]:
        case "structure":
            wanted = (
                list(inside)[:1]
                if shape.get("union")
                else shape.get("required") or [key for key in inside if key != "error"]
            )
            return {key: _example(shapes, inside[key]["shape"], depth + 1) for key in wanted}
        case "list":
            return [] if depth > 6 else [_example(shapes, shape["member"]["shape"], depth + 1)]
        case "string":
            return shape.get("enum", ["x1"])[0]
        case "blob":
            return "QUJD"
        case "boolean":
            return True
        case kind:
            return 1 if kind in ("integer", "long", "float", "double") else {}


STREAMS = {
    "anthropic": ("anthropic.types.beta", "BetaRawMessageStreamEvent"),
    "openai-responses": ("openai.types.responses", "ResponseStreamEvent"),
    "gemini-interactions": ("google.genai.interactions", "InteractionSSEEvent"),
}


@pytest.mark.parametrize("name", STREAMS)
def test_every_event_of_a_stream_is_folded(name: str) -> None:
    """Each by itself, and each after the others: nothing that a stream may have ends it with a traceback."""
    events = [example(kind, full=full) for kind in _members(*STREAMS[name]) for full in (True, False)]
    every = Stream(name)
    for event in events:
        line = f"data: {json.dumps(event)}\n\n"
        alone = Stream(name)
        for stream in (every, alone):
            stream.feed(line)
        alone.end()
        assert isinstance(alone.body(), dict)

    every.end()
    assert isinstance(every.body(), dict)


def test_every_piece_of_a_stream_of_bedrock_is_kept() -> None:
    """Each makes a block of the answer, behind what it begins with."""
    shapes = service_model()["shapes"]
    begun, pieces = (shapes[name]["members"] for name in ("ContentBlockStart", "ContentBlockDelta"))
    for name, of in pieces.items():
        start = [{"start": {name: _example(shapes, begun[name]["shape"])}}] if name in begun else []
        stream = Stream("bedrock-converse")
        for event in (*start, {"delta": {name: _example(shapes, of["shape"])}}):
            stream.feed(json.dumps({f"contentBlock{next(iter(event)).title()}": {"contentBlockIndex": 0, **event}}))
        stream.feed(json.dumps({"messageStop": {"stopReason": "end_turn"}}))
        stream.end()

        assert 1 == len(stream.body()["output"]["message"]["content"]), name
    assert begun.keys() <= pieces.keys()
