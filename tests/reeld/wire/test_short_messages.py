"""Messages in short: each client decodes the same messages, in whichever form they were sent."""

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.strict_json import encode
from reel.said.records import message_from_record
from reel.wire.frames import InvalidFrame, Response
from reel.wire.session import MessagePack
from reel.wire.short_messages import at_most, size, unabridged, unpacked, unpacked_all
from reeld.core.events import Origin, read
from reeld.wire.encoded import PackedMessages
from reeld.wire.json_framing import Lines
from reeld.wire.msgpack_framing import ServerMessagePack
from tests.reeld.core.memory import pack

# Each size that a number has, and the times before and after which it has nine bytes.
numbers = st.integers(0, 2**53) | st.sampled_from((0, 127, 128, 255, 256, 2**16 - 1, 2**16, 2**32 - 1, 2**32))
texts = st.text(max_size=40) | st.integers(0, 70_000).map("x".__mul__)
data = st.none() | st.fixed_dictionaries({"provider": st.just("openai"), "model": st.text(max_size=5)}).map(encode)
origins = st.none() | st.builds(Origin, st.none() | numbers, st.none() | st.text(max_size=9))
records = st.tuples(st.sampled_from(("user", "assistant")), texts, data, numbers, numbers, origins)


def kept(record: tuple[Any, ...]) -> tuple[bytes, dict[str, Any]]:
    """Return the message of a record as it is kept, and as it is read from the record."""
    kind, text, data_json, seq, time, origin = record
    message, _ = read(pack, *record)
    fields = {"kind": kind, "content": text, "data_json": data_json, "seq": seq, "time": time}
    said: Any = message_from_record({**fields, **({} if origin is None else origin.as_map())})
    assert message is not None
    return message, said


@given(st.lists(records, min_size=1, max_size=5))
def test_a_message_in_short_is_the_same_message(given_records: list[tuple[Any, ...]]) -> None:
    """It is decoded as its record is read, and gets its usual form again, with the bytes and the size of that."""
    messages, said = zip(*map(kept, given_records), strict=True)
    usual = [msgpack.packb(message) for message in said]

    assert [*said] == [*map(unpacked, messages)] == unpacked_all(messages)
    assert usual == unabridged(messages)
    assert [*map(len, usual)] == [*map(size, messages)]
    assert sum(map(len, usual)) <= at_most(messages)


@given(records)
def test_a_plain_text_is_short(record: tuple[Any, ...]) -> None:
    """A message that is nothing but a text is a list, and every other one is a map."""
    message, _ = kept(record)

    assert isinstance(msgpack.unpackb(message), list if record[2] is None else dict)


@given(st.lists(records, max_size=5), st.booleans())
def test_a_client_has_them_as_they_are(given_records: list[tuple[Any, ...]], takes_short: bool) -> None:
    """A client decodes the same messages whether it takes them in short or not, also if they come in pieces."""
    pairs = [kept(record) for record in given_records]
    framing = ServerMessagePack()
    framing.short_messages = takes_short
    sent = framing.answer(1, {"head": 9, "messages": PackedMessages([message for message, _ in pairs])})
    whole, cut = MessagePack(), MessagePack()

    expected = [Response(1, None, {"head": 9, "messages": [said for _, said in pairs]})]
    assert expected == whole.feed(sent) == cut.feed(sent[:-1]) + cut.feed(sent[-1:])


@given(st.lists(records, max_size=5))
def test_who_does_not_ask_for_them_gets_the_usual_form(given_records: list[tuple[Any, ...]]) -> None:
    """Other peers get maps: over MessagePack-RPC, JSON-RPC, and in a later answer to a client that takes short ones."""
    pairs = [kept(record) for record in given_records]
    result, usual = {"messages": PackedMessages([message for message, _ in pairs])}, [said for _, said in pairs]
    taking = ServerMessagePack()
    taking.short_messages = True

    assert usual == msgpack.unpackb(ServerMessagePack().answer(1, result))[3]["messages"]
    assert usual == msgpack.unpackb(taking.reply(7, result))[2][0]["result"]["messages"]
    assert [Response(1, None, {"messages": usual})] == Lines().feed(Lines().answer(1, result))


@pytest.mark.parametrize("found", [[], {}, 3, None, [3, {"seq": 1}]])
def test_other_results_stay_as_they_are(found: Any) -> None:
    """A result keeps a field called messages that is no list of messages."""
    assert [Response(1, None, {"messages": found})] == MessagePack().feed(
        msgpack.packb([1, 1, None, {"messages": found}])
    )


@pytest.mark.parametrize("message", [[], ["user", 1], ["user", 1, 2, "a", 3]])
@pytest.mark.parametrize("texts", ["a", "a" * 40_000])
def test_a_message_that_is_no_message(message: list[Any], texts: str) -> None:
    """It is an error that ends the connection, and the frames before it are read: nobody waits for a reply forever."""
    good, bad = [1, 1, None, {"text": texts}], [1, 2, None, {"messages": [message]}]

    first, *others = MessagePack().feed(b"".join(map(msgpack.packb, (good, bad, good))))
    assert Response(1, None, {"text": texts}) == first
    assert [True] == [frame.fatal for frame in others if isinstance(frame, InvalidFrame)]
    assert 1 == len(others)
