"""Repair: each rule of section 6 of the formats, on neutral turns."""

from typing import Any

import pytest

from reel.msgpack_codec import unpack
from reeld.formats.repair import NO_RESULT, PLACEHOLDER, Exchange, Repaired, repair
from reeld.formats.repair_state import RepairState
from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import (
    IMAGE,
    SOUND,
    call,
    entries_of,
    model,
    opaque,
    result,
    text,
    thinking,
    tool,
    user,
)

SEARCH = '{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}'
FOUND = '{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}'


def repaired(*messages: Any, name: str = "anthropic") -> Repaired:
    found = [unpack(entry.message) for entry in entries_of(messages) if entry.message is not None]
    return repair(found, RepairState(), FORMATS[name], None)


def shown(found: Repaired) -> list[list[str]]:
    """Give what each round says, shortly: results by the id of their calls, calls by theirs, all else by its words."""
    return [
        [*map(str, _heard(turn)), "|", *map(_said, turn.assistant.pieces)] for turn in (*found.settled, *found.open)
    ]


def _heard(turn: Exchange) -> list[str]:
    answers = [f"{answer.call.id}={answer.content}" for answer in turn.user.results]
    return [*answers, *map(_said, turn.user.pieces)]


def _said(piece: Any) -> str:
    block = piece.block
    return str(block.get("text") or block.get("id") or block.get("data_json") or block["type"])


def actions(found: Repaired) -> list[tuple[int | None, int | None, str]]:
    """Give the report without its reasons."""
    return [change[:3] for turn in (*found.settled, *found.open) for change in turn.report]


def test_what_is_sound_stays() -> None:
    """A sound history is not reported at all; what is settled is what something was said after."""
    found = repaired("Hi", model("Look", call()), tool(result()), model("OK"), "Bye")

    assert [["Hi", "|", "Look", "c1"], ["c1=done", "|", "OK"], ["Bye", "|"]] == shown(found)
    assert (2, 4, []) == (len(found.settled), found.settled_messages, actions(found))


def test_blank_texts_say_nothing() -> None:
    """Empty and blank texts are dropped."""
    found = repaired(user("Hi", " "), model("", "OK"), "Bye")

    assert [["Hi", "|", "OK"], ["Bye", "|"]] == shown(found)
    assert [(1, 1, "dropped"), (2, 0, "dropped")] == actions(found)


def test_a_call_without_result_gets_one() -> None:
    """It is an error, and a fixed sentence; the call is open."""
    found = repaired("Hi", model(call()), "Never mind", model("OK"))

    assert [["Hi", "|", "c1"], [f"c1={NO_RESULT}", "Never mind", "|", "OK"]] == shown(found)
    assert [(2, None, "synthesized")] == actions(found)
    assert found.open[0].user.results[0].failed
    assert [{"id": "c1", "name": "look", "seq": 2}] == [made.as_map() for made in found.open_calls]


def test_calls_at_the_end_are_closed_too() -> None:
    """What ends in calls ends in their results, made up if need be; nothing of it is settled."""
    found = repaired("Hi", model(call("a"), call("b")))

    assert [["Hi", "|", "a", "b"], [f"a={NO_RESULT}", f"b={NO_RESULT}", "|"]] == shown(found)
    assert (0, False) == (len(found.settled), found.ends_with_assistant)


def test_results_stand_in_the_order_of_their_calls() -> None:
    """In whatever order they came; what was said before one of them comes after."""
    found = repaired("Hi", model(call("a"), call("b")), tool(result("b", "2")), "Well?", tool(result("a", "1")))

    assert ["a=1", "b=2", "Well?", "|"] == shown(found)[1]
    assert [(5, 0, "moved")] == actions(found)


def test_orphans_and_second_results_are_dropped() -> None:
    """A result of no call, and one of a call that has one."""
    found = repaired("Hi", model(call()), tool(result("x"), result(), result("c1", "again")))

    assert ["c1=done", "|"] == shown(found)[1]
    assert [(3, 0, "dropped"), (3, 2, "dropped")] == actions(found)


def test_a_late_result_is_said_where_it_arrives() -> None:
    """The assistant has spoken since: what it answered to is not rewritten, and nothing is lost."""
    late = tool(result("c1", [text("done"), IMAGE]))
    found = repaired("Hi", model(call()), "Never mind", model("OK"), late, tool(result("c1", "again")))

    assert [f"c1={NO_RESULT}", "Never mind", "|", "OK"] == shown(found)[1]
    assert ["Late result of look (c1): done", "media", "|"] == shown(found)[2]
    assert [(2, None, "synthesized"), (5, 0, "downgraded"), (6, 0, "dropped")] == actions(found)
    assert [] == found.open_calls


def test_a_late_failure_says_so() -> None:
    """A text of the user's has no other sign; what the user cannot hand in is reported, as anywhere."""
    late = tool(result("c1", [text("no such file"), SOUND], is_error=True))
    found = repaired("Hi", model(call()), "Never mind", model("OK"), late)

    assert ["Late result of look (c1): Error: no such file", "|"] == shown(found)[2]
    assert [(5, 0, "downgraded"), (5, 0, "dropped")] == actions(found)[1:]


def test_of_two_given_up_calls_of_one_id_the_newer_is_late() -> None:
    """As in the living conversation: a result answers the newest call that is open."""
    found = repaired("Hi", model(call()), "1", model(call(name="find")), "2", model("OK"), tool(result("c1", "x")))

    assert ["Late result of find (c1): x", "|"] == shown(found)[-1]
    assert ["look"] == [made.name for made in found.open_calls]


def test_the_same_id_twice_in_a_turn() -> None:
    """The second call gets another id, and each gets its result, in their order."""
    found = repaired("Hi", model(call(), call()), tool(result("c1", "1"), result("c1", "2")))
    sent = [answer.call.id for answer in found.open[-1].user.results]

    assert [f"{sent[0]}=1", f"{sent[1]}=2", "|"] == shown(found)[1]
    assert "c1" == sent[0] != sent[1]
    assert [(2, 1, "renamed")] == actions(found)


def test_names_are_mapped() -> None:
    """A tool whose name somebody refuses is sent under another."""
    memory = RepairState()
    messages = [unpack(entry.message or b"") for entry in entries_of(["Hi", model(call(name="a.b"))])]
    found = repair(messages, memory, FORMATS["anthropic"], None)

    assert {"a.b"} == set(memory.tool_names.values())
    assert set(memory.tool_names) == {piece.block["name"] for piece in found.open[0].assistant.pieces}


def test_calls_come_last() -> None:
    """Text that came after a call stands before it, in one turn of neighbouring messages."""
    found = repaired("Hi", model(call("a"), "So"), model(thinking("hm"), call("b")), tool(result("a"), result("b")))

    assert ["Hi", "|", "So", "hm", "a", "b"] == shown(found)[0]
    assert [(2, 1, "moved"), (3, 0, "moved")] == actions(found)


def test_neighbours_are_merged() -> None:
    """Two messages that say something are one turn where the provider wants turns."""
    found = repaired("Hi", "there", model("Yes"), model("?"))

    assert [["Hi", "there", "|", "Yes", "?"]] == shown(found)
    assert [(2, None, "merged"), (4, None, "merged")] == actions(found)
    assert [] == actions(repaired("Hi", "there", model("Yes"), model("?"), name="openai-chat"))


def test_thinking_cannot_be_the_end() -> None:
    """It is dropped; where nothing is left, and turns must alternate, a placeholder stands."""
    found = repaired("Hi", model(thinking()), "Go on")

    assert [["Hi", "|", PLACEHOLDER], ["Go on", "|"]] == shown(found)
    assert [(2, 0, "dropped"), (2, None, "synthesized")] == actions(found)


def test_the_user_speaks_first() -> None:
    """A history that starts with the assistant gets a user turn before; so does a user who said nothing."""
    assert [[PLACEHOLDER, "|", "Hi"]] == shown(repaired(model("Hi")))
    assert [[PLACEHOLDER, "|", "Hi"]] == shown(repaired(" ", model("Hi")))
    assert [["|", "Hi"]] == shown(repaired(model("Hi"), name="openai-chat"))


@pytest.mark.parametrize("content", [[text(" ")], [IMAGE, text("x")]])
def test_results_are_looked_into(content: Any) -> None:
    """What of a result cannot be sent is left out; it may be all of it. A failed one is text alone."""
    found = repaired("Hi", model(call()), tool(result("c1", content, is_error=True)))

    assert [(3, 0, "dropped")] == actions(found)
    assert found.open[-1].user.results[0].content in ("", [text("x")])


def test_a_servers_tool_and_its_result_go_together() -> None:
    """Half of a pair is dropped, whichever half; a call waits as long as nothing but results comes between."""
    search, hit = opaque(SEARCH), opaque(FOUND)

    assert ["Hi", "|", SEARCH, FOUND, "OK"] == shown(repaired("Hi", model(search, hit, "OK")))[0]
    assert ["Hi", "|", "OK"] == shown(repaired("Hi", model(search, "OK"), "Bye"))[0]
    assert ["Hi", "|", "OK"] == shown(repaired("Hi", model(hit, "OK"), "Bye"))[0]
    assert ["Hi", "|", SEARCH, FOUND, "OK"] == shown(repaired("Hi", model(search, search, hit, hit, "OK")))[0]


@pytest.mark.parametrize(
    ("heard", "settled"),
    [([tool(result())], 0), ([tool(result("x"))], 1), ([tool(result(), result())], 1), ([tool(result()), "Hm"], 1)],
)
def test_a_servers_tool_at_work_holds_its_round_open(heard: list[Any], settled: int) -> None:
    """Until it has answered or somebody has said something else than the results of the other calls."""
    found = repaired("Hi", model(opaque(SEARCH), call()), *heard)

    assert settled == len(found.settled)
    assert (SEARCH in shown(found)[0]) == (settled == 0)


def test_nothing_is_nothing() -> None:
    """An empty history has no turns."""
    assert Repaired([], 0, [], [], None, ends_with_assistant=False) == repaired()


@pytest.mark.parametrize(
    ("loop", "messages"),
    [
        (None, ["Hi"]),
        (None, ["Hi", model(call()), tool(result()), model("OK")]),
        (None, ["Hi", model(call()), tool(result()), model("OK"), "Bye"]),
        ((False, False), ["Hi", model(call())]),
        ((True, False), ["Hi", model(thinking(), call("a")), tool(result("a")), model(call("b")), tool(result("b"))]),
        ((False, True), ["Hi", model(call("a")), tool(result("a")), model(thinking(), call("b")), "Go on"]),
    ],
)
def test_how_a_tool_loop_begins(loop: Any, messages: list[Any]) -> None:
    """Whether its first and its last step begin with thinking."""
    assert loop == repaired(*messages).loop
