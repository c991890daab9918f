"""Cache points of Bedrock's."""

import json
from typing import Any

import pytest

from reeld.formats.bedrock_converse.caching import mark_end
from reeld.formats.body import RenderRequest
from reeld.formats.render import render
from tests.formats.cases.bedrock_converse import CLAUDE, LLAMA, LOOK, NOVA
from tests.formats.checker import check
from tests.reeld.formats.histories import Json, entries_of, model, prompt_in, text, thinking, user

SYSTEM = {"role": "system", "content": "Be brief"}
HISTORY = (SYSTEM, user("Hi"), model("OK"), user("So?"))
POINT: Json = {"cachePoint": {"type": "default"}}


def body(*history: Any, by: str | None = CLAUDE, **more: Any) -> Json:
    """Render a history, check the body, and return it."""
    entries = entries_of(history)
    request = RenderRequest("bedrock-converse", by, {"toolConfig": {"tools": [LOOK]}}, **more)
    found: Json = json.loads(render(request, entries, prompt_in(entries))[0].body)

    assert [] == check("bedrock_converse", found, by)
    return found


def marked(words: str, ttl: str | None = None) -> Json:
    """Return a text with a cache point after it."""
    point = json.dumps({"type": "default", **({"ttl": ttl} if ttl else {})})
    return text(words, provider_metadata={"provider": "bedrock", "cachePoint_json": point})


def test_cache_points_of_the_history_go_back() -> None:
    """They are blocks after the one that they were after."""
    said = body(user(marked("a"), "b"), model("OK"), user(marked("c", "1h")))["messages"]

    assert [{"text": "a"}, POINT, {"text": "b"}] == said[0]["content"]
    assert {"cachePoint": {"type": "default", "ttl": "1h"}} == said[2]["content"][1]


@pytest.mark.parametrize(("by", "expected"), [(NOVA, [POINT]), (LLAMA, []), (None, [])])
def test_models_that_take_no_cache_points(by: str | None, expected: list[Json]) -> None:
    """They get none, and Nova none that lasts longer (rule B10)."""
    (said,) = body(user(marked("a", "1h")), by=by)["messages"]

    assert expected == said["content"][1:]


def test_the_newest_are_sent() -> None:
    """Four are allowed (rule B10)."""
    said = body(*(found for word in "abcde" for found in (user(marked(word)), model("OK"))), user("x"))["messages"]

    assert [1, 2, 2, 2, 2] == [len(message["content"]) for message in said[::2][:5]]


def test_a_prompt_with_too_many() -> None:
    """Its newest are sent, beside those of the tools."""
    metadata = {"provider": "bedrock", "role": "system"}
    leading = [{"role": "user", "content": [marked(word) for word in "abcde"], "provider_metadata": metadata}]
    kept = {"provider": "bedrock", "messages_json": json.dumps(leading)}
    prompt = {"role": "system", "content": "abcde", "provider_metadata": kept}
    entries = entries_of([prompt, user("x")])
    extra = {"toolConfig": {"tools": [LOOK, POINT]}}
    rendered, _ = render(RenderRequest("bedrock-converse", CLAUDE, extra), entries, prompt_in(entries))
    system = json.loads(rendered.body)["system"]

    assert [{"text": "a"}, {"text": "b"}, {"text": "c"}, POINT, {"text": "d"}, POINT, {"text": "e"}, POINT] == system
    assert 2 == len([change for change in rendered.report if change.action == "dropped"])


def test_cache_points_are_placed() -> None:
    """After the tools, the prompt and the last settled turn."""
    found = body(*HISTORY, cache="1h")
    point = {"cachePoint": {"type": "default", "ttl": "1h"}}

    assert [LOOK, point] == found["toolConfig"]["tools"]
    assert [{"text": "Be brief"}, point] == found["system"]
    assert [{"text": "OK"}, point] == found["messages"][1]["content"]


def test_cache_points_are_placed_where_a_model_takes_them() -> None:
    """Nova none after its tools; a model that is not known none."""
    nova, unknown = body(*HISTORY, by=NOVA, cache="1h"), body(*HISTORY, by=None, cache="5m")

    assert [LOOK] == nova["toolConfig"]["tools"]
    assert [{"text": "Be brief"}, POINT] == nova["system"]
    assert "cachePoint" not in json.dumps(unknown)


def test_without_a_prompt() -> None:
    """Only tools and turns are marked."""
    assert "system" not in body(*HISTORY[1:], cache="5m")


def test_the_end_of_a_message() -> None:
    """A cache point follows a text or a call, not a document; a message of none of them has none."""
    thought: Json = {"reasoningContent": {}}
    item = {"role": "user", "content": [thought, {"text": "a"}, {"document": {}}]}

    assert {**item, "content": [thought, {"text": "a"}, POINT, {"document": {}}]} == mark_end(item, "5m", CLAUDE)
    assert mark_end({"content": [{"document": {}}]}, "5m", CLAUDE) is None


def test_a_cache_point_is_not_put_after_a_document() -> None:
    """The model refuses it there (rule B10)."""
    pdf = {"type": "media", "mime_type": "application/pdf", "data_base64": "AAAA"}
    kept = {"provider": "bedrock", "cachePoint_json": '{"type":"default"}'}
    (said,) = body(user({**pdf, "provider_metadata": kept}, "x"))["messages"]

    assert ["document", "text"] == [next(iter(block)) for block in said["content"]]


def test_thinking_has_none() -> None:
    """Nor has a turn that settled with thinking its cache point there."""
    thought = thinking("hm", "c2ln", "bedrock", model=CLAUDE)
    found = body(user("Hi"), model(thought, "OK"), user("So?"), cache="5m")

    assert [{"text": "OK"}, POINT] == found["messages"][1]["content"][1:]
