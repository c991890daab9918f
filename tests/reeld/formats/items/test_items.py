"""Items come back as they were, and everybody can read what they say."""

import random
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.base.errors import InvalidMessage, InvalidParams
from reel.base.strict_json import parse
from reel.base.values import Numeral
from reel.said.item_forms import canonical
from reeld.core.open_calls import OpenCall
from reeld.formats.items.reading import OpenCallsNeeded, parse_items
from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import Json, call, model, opaque, result, text, thinking, tool, user
from tests.reeld.formats.item_samples import FOREIGN, SAMPLES
from tests.reeld.formats.items_sending import again, shown, stored, written
from tests.thoroughness import FUZZ

VALUES: list[Any] = [None, 1, 1.0, True, 10**30, Numeral("1e400"), "word", "", "@3", "\ud800", "a\x00b", {}, [], "{}"]
DEEP: Any = "deep"
for _ in range(490):
    DEEP = {"a": DEEP}


def changed(item: Json, chance: random.Random) -> Json:
    """Return an item with a few random changes."""
    item = deepcopy(item)
    for _ in range(chance.randint(0, 3)):
        at: Any = item
        while isinstance(at, dict | list) and at:
            key = chance.choice(list(at)) if isinstance(at, dict) else chance.randrange(len(at))
            if chance.random() < 0.4 or not isinstance(at[key], dict | list):
                at[key] = deepcopy(chance.choice(VALUES))
                break
            at = at[key]
        if isinstance(at, dict):
            at[chance.choice(["extra", "item", "id", "role"])] = deepcopy(chance.choice(VALUES))
    return item


# For each format; `make fuzz` tries more.
EXAMPLES = FUZZ // 10 or 15


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_items_come_back_as_they_were(name: str, seed: int) -> None:
    """Whatever is in an item, known or not, is there when it is read."""
    chance = random.Random(seed)
    items = [changed(chance.choice([*SAMPLES[name], *FOREIGN]), chance) for _ in range(3)]
    given_items = [canonical(item) for item in items]
    assert [canonical(item) for item in again(name, items)] == given_items


@pytest.mark.parametrize("name", FORMATS)
def test_every_sample_is_read_by_everybody(name: str) -> None:
    """What the items of a format say is in blocks that every other format can send."""
    kinds = {block["type"] for message in stored(name, SAMPLES[name]) for block in message["content"]}
    assert {"text", "tool_call", "tool_result"} <= kinds
    assert again(name, SAMPLES[name]) == SAMPLES[name]


def test_an_item_of_an_unknown_type_is_kept_readable() -> None:
    """What no reader knows is a block of its provider's, with its JSON."""
    item = {"type": "hologram_call", "prompt": "a cat in three dimensions"}
    (message,) = stored("openai-chat", [item])
    assert "assistant" == message["role"]
    assert [item] == [parse(block["data_json"]) for block in message["content"]]


@pytest.mark.parametrize("name", FORMATS)
def test_half_a_character_comes_back(name: str) -> None:
    """An item with a lone surrogate comes back, even if its JSON is in a block of the provider's."""
    items: list[Json] = [
        {"type": "hologram_call", "prompt": "\ud800"},
        {"\ud800": 1},
        {"role": "user", "content": "half \ud800"},
    ]
    assert again(name, items) == items


def test_a_very_deep_item_comes_back() -> None:
    """An item may be as deep as its JSON could be parsed."""
    item = {"role": "user", "content": [{"type": "text", "text": "Hi", "beside": DEEP}]}
    assert canonical(again("anthropic", [item])[0]) == canonical(item)


def test_an_item_that_is_no_message_is_kept_whole() -> None:
    """A call with a name that no message may have is a block of its provider's."""
    item = {"type": "function_call", "call_id": "c1", "name": "x" * 2000, "arguments": "{}"}
    assert ["opaque"] == [block["type"] for block in stored("openai-responses", [item])[0]["content"]]
    assert [item] == again("openai-responses", [item])


@pytest.mark.parametrize(
    ("given_items", "why"),
    [
        ([], "got an empty one"),
        ({}, "got a map"),
        (None, "got null"),
        ("{", "invalid JSON"),
        ("[" * 600, "invalid JSON: nested deeper"),
    ],
)
def test_what_is_not_a_list_of_items_is_refused(given_items: Any, why: str) -> None:
    """Items are a list, or the JSON of one."""
    with pytest.raises(InvalidParams, match=why):
        parse_items(given_items)


def test_items_are_taken_as_a_list_or_as_json() -> None:
    """JSON has numbers that no other form of a request has."""
    assert parse_items([{"a": 1}]) == parse_items(' [{"a": 1}]') == [{"a": 1}]
    assert parse_items('[{"a": 1e400}]') == [{"a": Numeral("1e400")}]


def test_an_item_that_is_not_an_object_is_refused() -> None:
    """The error has the place of the item."""
    with pytest.raises(InvalidMessage, match=r"items\[1\]: expected an object, got a string") as caught:
        parse_items('[{}, "Hi"]')
    assert {"index": 1, "field": "items[1]"} == caught.value.data


def gemini_call(name: str) -> Json:
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]}


def gemini_result(name: str) -> Json:
    return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"result": "done"}}}]}


def ids(messages: list[Json]) -> list[str]:
    """Return the ids of the calls and of what is answered, in their order."""
    return [block.get("id") or block["tool_call_id"] for message in messages for block in message["content"]]


def test_calls_and_results_without_ids_belong_together() -> None:
    """A call gets an id of its own, and its result has the same one, though each was an item."""
    items = [gemini_call("look"), gemini_call("hear"), gemini_result("hear"), gemini_result("look")]
    assert ["call_made_1", "call_made_2", "call_made_2", "call_made_1"] == ids(stored("gemini", items))
    assert again("gemini", items) == items


def test_a_result_answers_a_call_that_was_there_before() -> None:
    """A result without an id answers an open call of its tool."""
    calls = [OpenCall("c1", "look", 1, 0), OpenCall("c2", "hear", 1, 1)]
    assert ["c2"] == ids(stored("gemini", [gemini_result("hear")], calls))
    with pytest.raises(OpenCallsNeeded):
        stored("gemini", [gemini_result("hear")], None)


def test_a_call_and_its_result_in_one_item_belong_together() -> None:
    """An item with both needs no ids for it."""
    parts = [*gemini_call("look")["parts"], *gemini_result("look")["parts"]]
    assert ["call_made_1", "call_made_1"] == ids(stored("gemini", [{"role": "model", "parts": parts}]))


def test_a_result_that_answers_no_call_gets_an_id_of_its_own() -> None:
    """A result without an id and without a call before it is an orphan."""
    assert ["call_made_1"] == ids(stored("gemini", [gemini_result("look")]))


def test_an_item_of_several_messages_is_one_item_again() -> None:
    """Results and words in one item are two messages; between other items they are one again."""
    results = {"type": "tool_result", "tool_use_id": "c1", "content": "done"}
    item = {"role": "user", "content": [results, {"type": "text", "text": "And now?"}]}
    after = {"role": "assistant", "content": "Nothing."}
    messages = stored("anthropic", [item, after])
    assert ["tool", "user", "assistant"] == [message["role"] for message in messages]
    assert [item, after] == written("anthropic", messages)


def test_a_part_of_an_item_is_read_by_itself() -> None:
    """If not all messages of an item are there any more, those that are become items."""
    results = {"type": "tool_result", "tool_use_id": "c1", "content": "done"}
    item = {"role": "user", "content": [results, {"type": "text", "text": "And now?"}]}
    first, second = stored("anthropic", [item])
    words = [{"type": "text", "text": "And now?"}]
    assert [{"role": "user", "content": [results]}] == written("anthropic", [first])
    assert [{"role": "user", "content": words}] == written("anthropic", [second])
    assert [{"role": "user", "content": [{"type": "text", "text": "Stop"}]}] == written(
        "anthropic", [first, *shown([user("Stop")])]
    )[1:]


def test_a_message_that_was_changed_is_read_as_it_is_now() -> None:
    """The kept form counts only for the message that it was made with."""
    (message,) = stored("openai-responses", [{"role": "user", "content": "Hello there", "id": "msg_1"}])
    edited = {**message, "content": [{"type": "text", "text": "Hello you"}]}
    assert [{"role": "user", "content": "Hello you"}] == written("openai-responses", [edited])


@pytest.mark.parametrize("kept", [{"form": "@7"}, {"form_json": "{"}, {}, {"of": "x"}])
def test_what_is_no_form_is_ignored(kept: Json) -> None:
    """Anybody can write metadata: they do not hide what a message says."""
    message = user("Hi", item={"format": "openai-chat", "check": "00000000", **kept})
    assert [{"role": "user", "content": "Hi"}] == written("openai-chat", shown([message]))


@pytest.mark.parametrize("name", FORMATS)
def test_messages_of_other_origin_become_items(name: str) -> None:
    """A message that was added as one is read as the items that a request would have of it."""
    messages = [user("Hi"), model(thinking(), "Yes", call()), tool(result()), user("x", role="system")]
    items = written(name, shown([*messages, user(opaque("{}", "nobody")), model(text(" "))]))
    assert len(items) >= 4
    assert "look" in canonical(items)


def test_one_message_may_be_several_items() -> None:
    """What the assistant says and calls is an item each in Responses."""
    items = written("openai-responses", shown([model("Yes", call()), tool(result())]))
    assert [None, "function_call", "function_call_output"] == [item.get("type") for item in items]


def test_an_item_of_one_format_is_read_in_another() -> None:
    """What was added in the words of one provider is read in those of another."""
    messages = stored("openai-responses", [{"role": "user", "content": "Hi", "id": "msg_1"}])
    assert [{"role": "user", "parts": [{"text": "Hi"}]}] == written("gemini", messages)
