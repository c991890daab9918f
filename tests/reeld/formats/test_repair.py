"""Repair, on neutral turns (rules X2, X3, X4, X5 and X11)."""

from typing import Any

import pytest

from reel.wire.short_messages import unpacked
from reeld.formats.model import PLACEHOLDER, HistorySettings
from reeld.formats.repair import Exchange, Repaired, repair
from reeld.formats.repair_state import RepairState
from reeld.formats.repair_user import NO_RESULT
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


def repaired(*messages: Any, name: str = "anthropic", has: frozenset[str] | None = None) -> Repaired:
    found = [unpacked(entry.message) for entry in entries_of(messages) if entry.message is not None]
    return repair(found, RepairState(), FORMATS[name], None, HistorySettings(tools=has))


def shown(found: Repaired) -> list[list[str]]:
    """Return each exchange in short: results by the id of their calls, calls by their ids, all else by its text."""
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
    """Return the report without its reasons."""
    return [change[:3] for turn in (*found.settled, *found.open) for change in turn.report]


def test_a_valid_history_is_not_changed() -> None:
    """Nothing is reported; an exchange is settled as soon as a message follows it."""
    found = repaired("Hi", model("Look", call()), tool(result()), model("OK"), "Bye")

    assert [["Hi", "|", "Look", "c1"], ["c1=done", "|", "OK"], ["Bye", "|"]] == shown(found)
    assert (2, 4, []) == (len(found.settled), found.settled_messages, actions(found))


def test_blank_texts_are_dropped() -> None:
    """Empty texts and white space are left out."""
    found = repaired(user("Hi", " "), model("", "OK"), "Bye")

    assert [["Hi", "|", "OK"], ["Bye", "|"]] == shown(found)
    assert [(1, 1, "dropped"), (2, 0, "dropped")] == actions(found)


def test_a_call_without_result_gets_a_synthesized_one() -> None:
    """It is an error with a fixed sentence; the call stays open."""
    found = repaired("Hi", model(call()), "Never mind", model("OK"))

    assert [["Hi", "|", "c1"], [f"c1={NO_RESULT}", "Never mind", "|", "OK"]] == shown(found)
    assert [(2, None, "synthesized")] == actions(found)
    assert found.open[0].user.results[0].failed
    assert [{"id": "c1", "name": "look", "seq": 2}] == [made.as_map() for made in found.open_calls]


def test_calls_at_the_end_get_synthesized_results() -> None:
    """Nothing of them is settled."""
    found = repaired("Hi", model(call("a"), call("b")))

    assert [["Hi", "|", "a", "b"], [f"a={NO_RESULT}", f"b={NO_RESULT}", "|"]] == shown(found)
    assert (0, False) == (len(found.settled), found.ends_with_assistant)


def test_results_are_put_in_the_order_of_their_calls() -> None:
    """What the user said between them comes after."""
    found = repaired("Hi", model(call("a"), call("b")), tool(result("b", "2")), "Well?", tool(result("a", "1")))

    assert ["a=1", "b=2", "Well?", "|"] == shown(found)[1]
    assert [(5, 0, "moved")] == actions(found)


def test_a_result_of_no_call_is_dropped() -> None:
    """Of no call of this conversation."""
    found = repaired("Hi", model(call()), tool(result("x"), result()))

    assert ["c1=done", "|"] == shown(found)[1]
    assert [(3, 0, "dropped")] == actions(found)


@pytest.mark.parametrize("name", FORMATS)
def test_the_last_result_of_a_call_counts_while_the_assistant_has_not_spoken(name: str) -> None:
    """A tool that waits for a confirmation answers twice, and its call has a neighbour (rule X19)."""
    asked = tool(result("a", [text("confirm?"), IMAGE], is_error=True))
    found = repaired(
        "Hi", model(call("a"), call("b")), asked, tool(result("b")), tool(result("a", "deleted")), name=name
    )

    assert ["a=deleted", "b=done", "|"] == shown(found)[1]
    assert (3, 0, "dropped") in actions(found)


def test_a_result_after_the_assistant_spoke_is_a_text_where_it_arrives() -> None:
    """What was rendered is not changed (rules X2 and X19)."""
    later = tool(result("c1", [text("deleted"), IMAGE]))
    found = repaired("Hi", model(call()), tool(result("c1", "confirm?")), model("Shall I?"), "Yes", later, model("OK"))

    assert ["c1=confirm?", "|", "Shall I?"] == shown(found)[1]
    assert ["Yes", "Later result of look (c1): deleted", "media", "|", "OK"] == shown(found)[2]
    assert (6, 0, "downgraded") in actions(found)


def test_a_later_result_of_what_is_not_looked_at_is_a_text() -> None:
    """Its mark says that its call was before what is looked at; a result of no call has none."""
    later = {**tool(result("c1", "deleted")), "provider_metadata": {"supersedes": ["c1"]}}
    found = repaired("Yes", later, tool(result("c2", "x")))

    assert ["Yes", "Later result of c1: deleted", "|"] == shown(found)[0]
    assert [(2, 0, "downgraded"), (3, 0, "dropped")] == [each for each in actions(found) if each[2] != "merged"]


def test_a_late_result_is_a_text_where_it_arrives() -> None:
    """What the assistant already answered to is not changed, and nothing is lost."""
    late = tool(result("c1", [text("done"), IMAGE]))
    found = repaired("Hi", model(call()), "Never mind", model("OK"), late, tool(result("c1", "again")))

    assert [f"c1={NO_RESULT}", "Never mind", "|", "OK"] == shown(found)[1]
    assert ["Late result of look (c1): done", "media", "Later result of look (c1): again", "|"] == shown(found)[2]
    assert [(2, None, "synthesized"), (5, 0, "downgraded"), (6, 0, "downgraded")] == actions(found)
    assert [] == found.open_calls


def test_a_late_failed_result_says_so() -> None:
    """A text has no flag; media that the user cannot send are reported."""
    late = tool(result("c1", [text("no such file"), SOUND], is_error=True))
    found = repaired("Hi", model(call()), "Never mind", model("OK"), late)

    assert ["Late result of look (c1): Error: no such file", "|"] == shown(found)[2]
    assert [(5, 0, "downgraded"), (5, 0, "dropped")] == actions(found)[1:]


def test_a_late_result_answers_the_newest_abandoned_call_of_its_id() -> None:
    """It is the same call that the conversation itself counts as answered."""
    found = repaired("Hi", model(call()), "1", model(call(name="find")), "2", model("OK"), tool(result("c1", "x")))

    assert ["Late result of find (c1): x", "|"] == shown(found)[-1]
    assert ["look"] == [made.name for made in found.open_calls]


def test_calls_with_one_id_in_a_turn_get_different_ids() -> None:
    """Each gets its result, in their order."""
    found = repaired("Hi", model(call(), call()), tool(result("c1", "1"), result("c1", "2")))
    sent = [answer.call.id for answer in found.open[-1].user.results]

    assert [f"{sent[0]}=1", f"{sent[1]}=2", "|"] == shown(found)[1]
    assert "c1" == sent[0] != sent[1]
    assert [(2, 1, "renamed")] == actions(found)


def test_a_renamed_tool_is_kept_in_the_state() -> None:
    """The state maps the name that is sent to the given one."""
    memory = RepairState()
    messages = [unpacked(entry.message or b"") for entry in entries_of(["Hi", model(call(name="a.b"))])]
    found = repair(messages, memory, FORMATS["anthropic"], None, HistorySettings())

    assert {"a.b"} == set(memory.tool_names.values())
    assert set(memory.tool_names) == {piece.block["name"] for piece in found.open[0].assistant.pieces}


# The formats that keep the order of an answer, and who thinks in them.
IN_ORDER = {"anthropic": "anthropic", "bedrock-converse": "bedrock", "ai-sdk": "x", "gemini-interactions": "gemini"}


@pytest.mark.parametrize("name", IN_ORDER)
def test_what_one_answer_said_keeps_its_order(name: str) -> None:
    """Text and thinking after a call stay behind it."""
    one, two = (thinking(words, provider=IN_ORDER[name]) for words in ("one", "two"))
    found = repaired(
        "Hi", model(one, call("a"), "So", two, call("b"), "Wait"), tool(result("a"), result("b")), name=name
    )

    assert ["Hi", "|", "one", "a", "So", "two", "b", "Wait"] == shown(found)[0]
    assert [] == [change for change in actions(found) if change[2] == "moved"]


@pytest.mark.parametrize("name", ["gemini", "openai-chat", "ollama"])
def test_text_after_a_call_is_moved_before_it(name: str) -> None:
    """Elsewhere only calls may follow a call, or have a place of their own."""
    found = repaired("Hi", model(call("a"), "So"), tool(result("a")), name=name)

    assert ["Hi", "|", "So", "a"] == shown(found)[0]
    assert [(2, 1, "moved")] == actions(found)


def test_what_a_later_message_says_goes_in_front_of_the_calls_before_it() -> None:
    """Neighbouring messages are one turn; a message that thinks stays behind."""
    said = repaired("Hi", model("A", call("a")), model("So", call("b")), tool(result("a"), result("b")))
    thought = repaired("Hi", model(call("a")), model(thinking("hm"), "So"), tool(result("a")))
    ended = repaired("Hi", model(call("a"), "A"), model("So"), tool(result("a")))

    assert ["Hi", "|", "A", "So", "a", "b"] == shown(said)[0]
    assert [(3, None, "merged"), (3, 0, "moved")] == actions(said)
    assert ["Hi", "|", "a", "hm", "So"] == shown(thought)[0]
    assert ["Hi", "|", "a", "A", "So"] == shown(ended)[0]


def test_a_server_tool_goes_in_front_of_a_call_unless_the_model_thought_in_between() -> None:
    """Both halves keep their order."""
    halves = opaque(SEARCH), opaque(FOUND)
    moved = repaired("Hi", model(call("a"), "So", *halves, call("b")), tool(result("a"), result("b")))
    kept = repaired("Hi", model(call("a"), thinking("hm"), *halves), tool(result("a")))

    assert ["Hi", "|", SEARCH, FOUND, "a", "So", "b"] == shown(moved)[0]
    assert [(2, 2, "moved"), (2, 3, "moved")] == actions(moved)
    assert ["Hi", "|", "a", "hm", SEARCH, FOUND] == shown(kept)[0]


CONNECTOR = '{"type":"connector_text","connector_text":"So","signature":"c2ln"}'
# What a model says between its calls, in Anthropic's own answer.
BETWEEN = opaque(CONNECTOR, provider_metadata={"provider": "anthropic", "answered": True})


def test_no_server_tool_goes_in_front_of_what_is_checked_like_thinking() -> None:
    """What a model says between its calls is signed, and bound to what is before it (rule A21)."""
    halves = opaque(SEARCH), opaque(FOUND)
    found = repaired("Hi", model(call("a"), BETWEEN, *halves, call("b")), tool(result("a"), result("b")))

    assert ["Hi", "|", "a", CONNECTOR, SEARCH, FOUND, "b"] == shown(found)[0]
    assert [] == actions(found)


def test_what_was_said_before_a_call_that_is_text_stays() -> None:
    """Only reasoning is left out with the call that it led to (rule X18)."""
    said = model(call("a"), BETWEEN, thinking("hm"), call("b", name="other"))
    found = repaired("Hi", said, has=frozenset({"look"}))

    assert ["Hi", "|", "a", CONNECTOR, "Call of other (b): {}"] == shown(found)[0]


def test_a_server_tool_goes_in_front_of_all_calls_since_the_model_thought() -> None:
    """Also if words have gone in front of some of them."""
    halves = opaque(SEARCH), opaque(FOUND)
    found = repaired("Hi", model(call("a"), "So", call("b")), model("And", *halves), tool(result("a"), result("b")))

    assert ["Hi", "|", SEARCH, FOUND, "a", "So", "And", "b"] == shown(found)[0]


def test_neighbouring_messages_are_merged_if_roles_alternate() -> None:
    """Otherwise they are not reported."""
    found = repaired("Hi", "there", model("Yes"), model("?"))

    assert [["Hi", "there", "|", "Yes", "?"]] == shown(found)
    assert [(2, None, "merged"), (4, None, "merged")] == actions(found)
    assert [] == actions(repaired("Hi", "there", model("Yes"), model("?"), name="openai-chat"))


def test_thinking_at_the_end_of_a_turn_is_dropped() -> None:
    """If nothing is left and roles alternate, a placeholder takes its place."""
    found = repaired("Hi", model(thinking()), "Go on")

    assert [["Hi", "|", PLACEHOLDER], ["Go on", "|"]] == shown(found)
    assert [(2, 0, "dropped"), (2, None, "synthesized")] == actions(found)


def test_a_history_that_begins_with_the_assistant_gets_a_user_turn() -> None:
    """So does one whose user said nothing."""
    assert [[PLACEHOLDER, "|", "Hi"]] == shown(repaired(model("Hi")))
    assert [[PLACEHOLDER, "|", "Hi"]] == shown(repaired(" ", model("Hi")))
    assert [["|", "Hi"]] == shown(repaired(model("Hi"), name="openai-chat"))


@pytest.mark.parametrize("content", [[text(" ")], [SOUND, text("x")]])
def test_blocks_of_a_result_that_cannot_be_sent_are_dropped(content: Any) -> None:
    """That may be all of them. A failed result contains only text."""
    found = repaired("Hi", model(call()), tool(result("c1", content, is_error=True)))

    assert [(3, 0, "dropped")] == actions(found)
    assert found.open[-1].user.results[0].content in ("", [text("x")])


def test_media_of_results_follow_all_results_if_they_cannot_be_in_one() -> None:
    """They come before what the user says, each with a title that names the call (rule X17)."""
    results = tool(result("c1", [IMAGE], is_error=True), result("c2", [IMAGE, text("x")], is_error=True))
    found = repaired("Hi", model(call(), call("c2")), results, "See?")
    said = [piece.block.get("text", piece.block["type"]) for piece in found.open[-1].user.pieces]

    assert ["Media of the result of look (c1):", "media", "Media of the result of look (c2):", "media", "See?"] == said
    assert [(3, 0, "moved"), (3, 1, "moved")] == actions(found)[:2]


def test_half_of_a_servers_tool_call_is_dropped() -> None:
    """Whichever half it is."""
    search, hit = opaque(SEARCH), opaque(FOUND)

    assert ["Hi", "|", SEARCH, FOUND, "OK"] == shown(repaired("Hi", model(search, hit, "OK")))[0]
    assert ["Hi", "|", "OK"] == shown(repaired("Hi", model(search, "OK"), "Bye"))[0]
    assert ["Hi", "|", "OK"] == shown(repaired("Hi", model(hit, "OK"), "Bye"))[0]
    assert ["Hi", "|", SEARCH, FOUND, "OK"] == shown(repaired("Hi", model(search, search, hit, hit, "OK")))[0]


@pytest.mark.parametrize(
    ("heard", "settled"),
    [([tool(result())], 0), ([tool(result("x"))], 1), ([tool(result(), result())], 1), ([tool(result()), "Hm"], 1)],
)
def test_a_pending_server_tool_keeps_its_exchange_open(heard: list[Any], settled: int) -> None:
    """Until it has answered, or a message contains more than the results of the other calls."""
    found = repaired("Hi", model(opaque(SEARCH), call()), *heard)

    assert settled == len(found.settled)
    assert (SEARCH in shown(found)[0]) == (settled == 0)


def test_an_empty_history_has_no_turns() -> None:
    """Nothing is repaired."""
    assert Repaired([], 0, 0, [], [], None, ends_with_assistant=False, asks=False) == repaired()


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
def test_the_thinking_of_a_tool_loop(loop: Any, messages: list[Any]) -> None:
    """Whether its first and its last step begin with thinking."""
    assert loop == repaired(*messages).loop


def test_calls_of_other_tools_are_text() -> None:
    """A call of a tool that the model does not have is sent as text, with its result; calls of others stay (X18)."""
    called = model("Look", call("c1", "grep", '{"a":1}'), call("c2"))

    found = repaired("Hi", called, tool(result("c1"), result("c2")), "Go on", has=frozenset({"look"}))

    assert [
        ["Hi", "|", "Look", 'Call of grep (c1): {"a":1}', "c2"],
        ["c2=done", "Result of grep (c1): done", "Go on", "|"],
    ] == shown(found)
    assert [
        (2, "downgraded"),
        (3, "downgraded"),
    ] == [(seq, action) for seq, _, action in actions(found) if action == "downgraded"]


def test_a_call_that_is_text_waits_for_nothing() -> None:
    """Nothing takes the place of its result, which is sent wherever it comes; so is a second one, which counts."""
    found = repaired("Hi", model(call("c1", "grep")), "Wait", tool(result("c1"), result("c1")), has=frozenset())

    assert [
        ["Hi", "|", "Call of grep (c1): {}"],
        ["Wait", "Result of grep (c1): done", "Later result of grep (c1): done", "|"],
    ] == shown(found)
    assert [] == found.open_calls


def test_reasoning_of_a_call_that_is_text() -> None:
    """Reasoning that must come before its call is left out with it, if the API requires the pair (X18)."""
    reasoning = opaque('{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"AAAA"}', "openai")

    found = repaired("Hi", model(reasoning, call("c1", "grep")), name="openai-responses", has=frozenset())

    assert ["Hi", "|", "Call of grep (c1): {}"] == shown(found)[0]
    assert ["reasoning of a call that is sent as text"] == [
        change.why for change in found.open[0].report if change.action == "dropped"
    ]


def test_calls_that_are_text_stay_in_their_order() -> None:
    """Also in front of a call of the message before, and without the reasoning of each."""
    asked = model(*(part for of in ("c1", "c2") for part in (thinking(), call(of, "grep"))))

    found = repaired("Hi", model(call("c3"), thinking()), asked, tool(result("c3")), has=frozenset({"look"}))

    assert ["Hi", "|", "Call of grep (c1): {}", "Call of grep (c2): {}", "c3"] == shown(found)[0]
