"""The state of an incremental rendering, and the chunks of bytes in it."""

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.core.conversation import Conversation
from reeld.core.events import Entry
from reeld.core.recent import Earlier
from reeld.formats.body import RenderRequest
from reeld.formats.encoded_turns import DIGEST_SIZE, Chunks, EncodedTurn, EncodedTurns, digest
from reeld.formats.render import render
from tests.reeld.formats.histories import (
    Json,
    call,
    entries_of,
    model,
    opaque,
    result,
    tool,
)

SERVED = {
    "anthropic": (
        opaque('{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}'),
        opaque('{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}'),
    ),
    "openai-responses": (
        opaque('{"type":"shell_call","call_id":"s1","action":{"commands":["ls"]}}', "openai"),
        opaque('{"type":"shell_call_output","call_id":"s1","output":[]}', "openai"),
    ),
}
LOOP = ["Hi", model(call(name="a.b")), tool(result())]


def test_a_state_of_another_history_is_replaced() -> None:
    """For another format or model, or other entries, the result is that of a first rendering."""
    long = [*LOOP, model("OK"), "And?", model("So"), "Bye"]
    entries = entries_of(long)
    cases: list[tuple[str, dict[str, Any], list[Entry]]] = [
        ("anthropic", {}, entries),
        ("anthropic", {"model": "claude-opus-4-8"}, entries),
        ("gemini", {}, entries),
        ("anthropic", {}, entries[:2]),
        ("anthropic", {}, [*entries[:4], entries[4]._replace(id=900), *entries[5:]]),
        ("anthropic", {}, [*entries[:3], entries[3]._replace(id=900), *entries[4:]]),
    ]
    for name, how, now in cases:
        _, kept = render(RenderRequest("anthropic"), entries)
        asked = RenderRequest(name, **how)

        assert render(asked, now)[0] == render(asked, now, None, kept)[0]


def test_a_state_that_begins_elsewhere_is_replaced() -> None:
    """What it knows of earlier calls is not true of a history that begins before these."""
    entries = entries_of([*LOOP, model("OK"), "Bye"])
    before = Conversation(entries[:2])
    earlier = Earlier(before.sum_up(entries[1]), 2, tuple(before.open_calls))
    asked = RenderRequest("anthropic", open="refuse")
    _, kept = render(RenderRequest("anthropic"), entries[4:], None, None, earlier)

    assert render(asked, entries)[0] == render(asked, entries, None, kept)[0]


@pytest.mark.parametrize("name", ["anthropic", "openai-responses"])
def test_a_call_of_a_servers_tool_and_its_result_may_be_kept_in_two_steps(name: str) -> None:
    """The call is settled before the result; both are sent (rule X9)."""
    called, found = SERVED[name]
    history = ["Hi", model(called, call("c1")), tool(result("c1")), model(found, "x"), "Bye", model("y"), "z"]
    kept = None
    for end in range(1, len(history) + 1):
        entries = entries_of(history[:end])
        grown, kept = render(RenderRequest(name), entries, None, kept)

        assert render(RenderRequest(name), entries)[0] == grown
    assert [] == grown.report


def test_the_size_of_a_state_grows_with_it() -> None:
    """It is about the memory that the state takes."""
    _, little = render(RenderRequest("anthropic"), entries_of(["Hi"]))
    _, much = render(RenderRequest("anthropic"), entries_of(["Hi", model("x" * 1000), "Bye"]))

    assert little.size < 1000 < much.size


REWOUND = [
    (["Hi", model("A"), "So?"], 2, [model("B"), "x"]),
    (["Hi", model("A"), "So?"], 2, [{"kind": "note", "content": "n"}]),
    (["Hi", model("A"), "So?", model("B"), "x", model("C"), "y"], 6, [model("D"), "z"]),
    (["Hi", model(*SERVED["anthropic"], finish_reason="pause_turn", provider="anthropic"), "x"], 2, []),
    (["Hi", model(SERVED["anthropic"][0]), "x"], 2, [model(SERVED["anthropic"][1])]),
    (["Hi", model(SERVED["anthropic"][0], call()), tool(result()), "x"], 3, [model(SERVED["anthropic"][1])]),
    (["Hi", model(SERVED["anthropic"][0], call()), tool(result()), model(SERVED["anthropic"][1])], 3, ["x"]),
]


@pytest.mark.parametrize(("history", "kept", "after"), REWOUND)
@pytest.mark.parametrize("name", ["anthropic", "openai-chat", "gemini"])
def test_an_exchange_is_open_again_once_what_settled_it_is_gone(
    name: str, history: list[Any], kept: int, after: list[Any]
) -> None:
    """After a rewind to its end, the rendering is that of a conversation that was never longer."""
    before, other = entries_of(history), entries_of([*history[:kept], *after])
    _, state = render(RenderRequest(name), before)
    now = [*before[:kept], *(entry._replace(id=entry.id + 800) for entry in other[kept:])]
    for entries in (before[:kept], now):
        found, state = render(RenderRequest(name), entries, None, state)

        assert render(RenderRequest(name), entries)[0] == found


def test_a_long_history_in_batches_is_rendered_like_a_short_one() -> None:
    """It does not matter in how many steps it was kept."""
    history = [text for number in range(700) for text in (f"{number}", model(call(f"c{number}")))]
    whole, _ = render(RenderRequest("anthropic"), entries_of(history))
    steps = entries_of(history)
    kept = None
    for end in (100, 650, 1300, len(steps)):
        found, kept = render(RenderRequest("anthropic"), steps[:end], None, kept)

    assert whole == found
    assert 1400 == len(json.loads(whole.body)["messages"]) - 1
    merged, _ = render(RenderRequest("anthropic"), entries_of([*["Hi"] * 1200, model("OK"), "Bye"]))
    assert 2 == merged.prefix.messages


def turns(*sizes: int) -> EncodedTurns:
    """Return turns of one item each, of so many letters."""
    encoded = EncodedTurns()
    for seq, size in enumerate(sizes, 1):
        encoded.add([{"text": "x" * size}], seq, is_user=bool(seq % 2), can_begin=True)
    return encoded


def test_a_turn_is_encoded_with_a_comma() -> None:
    """So turns are joined without a look at what they contain."""
    encoded = turns(1, 2)

    assert b'{"text":"x"},{"text":"xx"},' == encoded.data.read(0, 99)
    assert (2, [13, 14], [0, 13, 27]) == (encoded.count, list(encoded.sizes), encoded.offsets())


def test_turns_are_appended_one_by_one_or_together() -> None:
    """Turns of no, one and two items; nothing is appended if there are none."""
    one_by_one, together = EncodedTurns(), EncodedTurns()
    histories: list[list[Json]] = [[], [{"a": "ü"}], [{"b": 1}, {}]]
    for seq, items in enumerate(histories, 1):
        one_by_one.add(items, seq, is_user=seq == 2, can_begin=seq > 1)
    together.add_all([])
    together.add_all([
        EncodedTurn([], 1, is_user=False, can_begin=False),
        EncodedTurn([b'{"a":"\xc3\xbc"},'], 2, is_user=True, can_begin=True),
        EncodedTurn([b'{"b":1},', b"{},"], 3, is_user=False, can_begin=True),
    ])  # fmt: skip

    for turns_ in (one_by_one, together):
        assert b'{"a":"\xc3\xbc"},{"b":1},{},' == turns_.data.read(0, 99)
        assert [11, 8, 3] == list(turns_.sizes)
        assert ([0, 1, 2], [1, 2, 3], [0, 1, 0], [0, 1, 1]) == tuple(map(list, turns_.extents))


def test_a_slice_of_turns_has_their_bytes_and_places() -> None:
    """Slices that are put together again are the whole."""
    whole, joined = turns(1, 2, 3), EncodedTurns()
    joined.extend(whole.slice(0, 1))
    joined.extend(whole.slice(1, 3))

    assert (whole.sizes, whole.extents) == (joined.sizes, joined.extents)
    assert whole.data.read(0, 99) == joined.data.read(0, 99)
    assert b'{"text":"xx"},' == whole.slice(1, 2).data.read(0, 99)
    assert 0 == whole.slice(2, 2).count


@given(st.lists(st.one_of(st.integers(0, 12).map(lambda items: ("hash", items)), st.just(("add", 0))), max_size=30))
def test_a_hash_is_that_of_the_bytes(steps: list[tuple[str, int]]) -> None:
    """It does not matter what was asked before, and what was added since."""
    encoded = EncodedTurns()
    for number, (step, items) in enumerate(steps):
        if step == "add":
            encoded.add([{"text": f"{number}"}] * (number % 3), number, is_user=True, can_begin=True)
        count = min(items, encoded.count)
        data = encoded.data.read(0, sum(encoded.sizes[:count]))
        found = encoded.hash(count)

        assert sha256(data).digest() == found.digest()
        # What is done with it is the caller's.
        found.update(b"more")


def test_any_prefix_has_a_hash_however_many_were_asked_for() -> None:
    """Only a few are kept to go on with."""
    encoded = turns(*range(9))
    asked = [*range(10), *reversed(range(10))]

    assert [digest(encoded.data.read(0, sum(encoded.sizes[:items]))) for items in asked] == [
        encoded.hash(items).digest()[:DIGEST_SIZE] for items in asked
    ]
    assert encoded.hash(9).digest() != encoded.hash(8).digest()


SIZES = st.lists(st.sampled_from([0, 1, 1000, 100_000, 131_072, 300_000]), max_size=6)


@given(SIZES, st.integers(0, 700_000), st.integers(0, 700_000))
def test_chunks_are_read_as_the_bytes_that_they_are(sizes: list[int], start: int, end: int) -> None:
    """Any part of them can be read, whatever pieces they came in."""
    pieces = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    chunks, whole = Chunks(), b"".join(pieces)
    for piece in pieces:
        chunks += piece

    assert len(whole) == len(chunks)
    assert whole[start:end] == chunks.read(start, end)
    assert all(chunks.parts(start, end))


def test_what_was_read_stays_when_more_comes() -> None:
    """A part that is being sent is not the one that grows."""
    chunks = Chunks(b"a")
    (part,) = chunks.parts(0, 1)
    chunks += b"b"

    assert b"a" == part
