"""Which calls and results of a server's tools can be sent (rules X9 and A11)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from reeld.formats.body import RenderRequest
from reeld.formats.render import render
from reeld.formats.server_tools import MessageGroup, ServerToolStatus, match_server_tools
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.reeld.formats.histories import call, entries_of, model, opaque, result, text, thinking, tool, user
from tests.reeld.formats.sending import sent

SEARCH = opaque('{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}')
FOUND = opaque('{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}')


def _made_by(program: str, call_id: str) -> Any:
    caller = json.dumps({"type": "code_execution_20260120", "tool_id": program})
    return call(call_id, provider_metadata={"provider": "anthropic", "caller_json": caller})


def matched(*groups: tuple[list[Any], list[Any]], name: str = "anthropic") -> ServerToolStatus:
    """Match the groups of a history, each of the user's and the assistant's messages."""
    start, found = 0, []
    for heard, said in groups:
        found.append(MessageGroup(start, heard, said))
        start += len(heard) + len(said)
    return match_server_tools(found, FORMATS[name], None)


def status(
    unpaired: set[tuple[int, int]],
    first_pending: int | None,
    continuing: Mapping[int, Sequence[str]],
    *spans: tuple[str, int, int],
    present: bool = True,
) -> ServerToolStatus:
    return ServerToolStatus(frozenset(unpaired), first_pending, continuing, spans, present)


def test_a_call_and_its_result_in_one_turn_are_paired() -> None:
    """They may be in two messages."""
    assert status(set(), None, {}) == matched(([user("Hi")], [model(SEARCH), model(FOUND)]))


def test_a_call_that_still_works_is_pending() -> None:
    """The number of its group says from where on the history is open."""
    assert status(set(), 1, {}) == matched(([user("Hi")], [model("OK")]), ([user("Go")], [model(SEARCH)]))


@pytest.mark.parametrize("heard", [[user("Stop")], [tool(result("other"))], [tool(result(), result())]])
def test_a_call_is_unpaired_if_more_than_results_follow(heard: list[Any]) -> None:
    """The user, a result of no call and a second result end the wait."""
    assert status({(1, 0)}, None, {}) == matched(([user("Hi")], [model(SEARCH, call())]), (heard, [model("OK")]))


def test_a_result_may_come_after_the_results_of_other_calls() -> None:
    """The assistant then continues its turn."""
    groups = ([user("Hi")], [model(SEARCH, call())]), ([tool(result())], [model(FOUND, text("OK"))])

    found = matched(*groups)

    assert status(set(), None, {1: ["s1"]}, ("s1", 0, 1)) == found
    assert [(), ("s1",), ()] == [found.waiting_at(number) for number in range(3)]


def test_the_result_of_a_call_that_is_sent_as_text_ends_the_wait() -> None:
    """It is a text of the user's, after which the API wants no result of the server's tool (rule X18)."""
    history = [user("Hi"), model(SEARCH, call()), tool(result()), model(FOUND, "OK"), user("Bye")]
    bodies = {
        has: json.loads(render(RenderRequest("anthropic", tools=frozenset({has})), entries_of(history))[0].body)
        for has in ("look", "other")
    }

    assert [[], []] == [check("anthropic", body) for body in bodies.values()]
    assert [True, False] == ["server_tool_use" in str(body) for body in bodies.values()]


@pytest.mark.parametrize("before", [[], [call("c0")], [call("c0"), thinking("so")]])
def test_a_server_tool_goes_in_front_of_a_call_if_what_was_thought_in_between_is_left_out(before: list[Any]) -> None:
    """It was about a call that is sent as text (rule X18)."""
    thought = [thinking("hm"), thinking("hm hm")]
    said = model(*before, *thought, call("c1", "find"), SEARCH, FOUND, call("c2"))
    heard = tool(*(result(block["id"]) for block in said["content"] if block["type"] == "tool_call"))
    request = RenderRequest("anthropic", tools=frozenset({"look"}))
    body = json.loads(render(request, entries_of([user("Hi"), said, heard]))[0].body)

    assert [] == check("anthropic", body)
    assert "server_tool_use" in str(body)


def test_a_call_that_is_never_answered_keeps_no_later_turn_from_beginning_a_history() -> None:
    """However the history was rendered, a budget cuts it in one place."""
    history: list[Any] = [user("Hi"), model(SEARCH, call()), tool(result()), model("x " * 150, call()), tool(result())]
    history += [model("OK", provider="openai"), "Bye"]
    request, entries, kept = RenderRequest("anthropic", budget=130), entries_of(history), None
    for end in range(1, len(history) + 1):
        _, kept = render(request._replace(budget=None), entries[:end], state=kept)

    assert render(request, entries)[0] == render(request, entries, state=kept)[0]


def test_a_later_result_has_one_name_however_the_history_was_rendered() -> None:
    """An id may come again, for another tool, in a turn that is not settled yet."""
    history = [user("Hi"), model(call()), tool(result()), model("OK"), user("Go"), tool(result())]
    request = RenderRequest("anthropic")
    entries = entries_of([*history, model(SEARCH, call(name="find")), tool(result()), model("OK"), user("Bye")])
    _, kept = render(request, entries[:8])
    fresh, _ = render(request, entries)

    assert "Later result of look (c1)" in fresh.body
    assert fresh == render(request, entries, state=kept)[0]


def test_a_call_without_its_result_in_the_turn_is_unpaired_if_the_api_wants_both_there() -> None:
    """It does not wait for results of other calls."""
    search = opaque('{"type":"google_search_call","id":"s1","arguments":{}}', "gemini")
    found = opaque('{"type":"google_search_result","call_id":"s1","result":[]}', "gemini")
    groups = ([user("Hi")], [model(search, call())]), ([tool(result())], [model(found)])

    assert status({(1, 0), (3, 0)}, None, {}) == matched(*groups, name="gemini-interactions")
    assert status(set(), None, {}) == matched(([user("Hi")], [model(search), model(found)]), name="gemini-interactions")
    assert status({(1, 0)}, None, {}) == matched(([user("Hi")], [model(search)]), name="gemini-interactions")


def test_a_result_may_come_in_a_later_batch_than_its_call() -> None:
    """The batch is matched with the key of the call, and the client's calls that its first group answers."""
    rest = [MessageGroup(0, [tool(result())], [model(FOUND, text("OK"))])]

    assert status(set(), None, {0: ["s1"]}, ("s1", -1, 0)) == match_server_tools(
        rest, FORMATS["anthropic"], None, ["s1"], ["c1"]
    )


def test_a_result_without_a_call_and_a_second_call_are_unpaired() -> None:
    """Each block is named by its message and its number in that."""
    assert status({(1, 0)}, None, {}) == matched(([user("Hi")], [model(FOUND, "OK")]))
    assert status({(1, 1), (1, 3)}, None, {}) == matched(([user("Hi")], [model(SEARCH, SEARCH, FOUND, FOUND)]))


AGAIN = opaque('{"type":"server_tool_use","id":"s2","name":"web_search","input":{},"caller":{"tool_id":"s1"}}')


@pytest.mark.parametrize(
    ("said", "is_continued"),
    [
        ([FOUND, text("OK")], True),
        ([text("OK"), FOUND], True),
        ([_made_by("s1", "c2")], True),
        ([AGAIN], True),
        ([call("c2")], False),
        ([text("OK")], False),
        ([_made_by("s9", "c2")], False),
        ([call("c2", provider_metadata={"provider": "anthropic", "caller": "s1"})], False),
    ],
)
def test_an_answer_that_has_nothing_to_do_with_a_call_gives_it_up(said: list[Any], is_continued: bool) -> None:
    """One goes on with a call if it has the result, or calls that the tool's program made (rule A11)."""
    groups = [([user("Hi")], [model(SEARCH, call())]), ([tool(result())], [model(*said)])]

    assert is_continued == ((1, 0) not in matched(*groups).unpaired)


def test_a_call_is_given_up_for_good_when_the_answer_without_it_has_ended() -> None:
    """Until then a later message of the answer may have its result, so nothing since the call is settled."""
    groups = [([user("Hi")], [model(SEARCH, call())]), ([tool(result())], [model(call("c2"))])]
    late = ([tool(result("c2"))], [model(FOUND, "OK")])

    assert status({(1, 0)}, 0, {}) == matched(*groups)
    assert status(set(), None, {1: ["s1"]}, ("s1", 0, 1)) == matched(
        groups[0], (groups[1][0], [*groups[1][1], model(FOUND)])
    )
    assert status({(1, 0), (5, 0)}, None, {}) == matched(*groups, late)


def test_messages_of_other_responses_are_other_answers() -> None:
    """Those of one response, or of which that is not known, are one answer."""
    asked = model(SEARCH, response_id="r1")
    for named, unpaired in (("r1", set()), (None, set()), ("r2", {(1, 0)})):
        answer = model("OK", call(), **({"response_id": named} if named else {}))

        assert unpaired == matched(([user("Hi")], [asked, answer])).unpaired
        assert set() == matched(([user("Hi")], [asked, model(FOUND, "OK", call(), response_id="r2")])).unpaired


def test_what_follows_an_answer_without_the_result_is_sent_without_the_call() -> None:
    """Otherwise the API would refuse the history for ever."""
    history = [user("Hi"), model(SEARCH, call()), tool(result()), model("Hm", call("c2")), tool(result("c2"))]
    body, report = sent("anthropic", history)

    assert [] == check("anthropic", body)
    assert "server_tool_use" not in str(body)
    assert (2, 0, "dropped") in [change[:3] for change in report]

    history[3]["content"].insert(0, FOUND)
    body, _ = sent("anthropic", history)
    assert [] == check("anthropic", body)
    assert "web_search_tool_result" in str(body)


@pytest.mark.parametrize("maker", ["message", "block"])
def test_a_call_is_unpaired_if_another_provider_answered_since(maker: str) -> None:
    """That cannot have continued the turn; an answer of the same provider, or of an unknown one, can (rule A11)."""
    for provider, unpaired in (("openai", {(1, 0)}), ("anthropic", set()), (None, set())):
        named = {"provider": provider} if provider else {}
        said = text("x", provider_metadata=named if maker == "block" else {})
        metadata = named if maker == "message" else {}
        answer = {"role": "assistant", "content": [said, call("c2")], "provider_metadata": metadata}

        assert unpaired == matched(([user("Hi")], [model(SEARCH), answer])).unpaired


def test_what_another_provider_answered_to_is_sent_without_the_open_call() -> None:
    """Otherwise the API would refuse the history, or answer the old call."""
    history = [
        user("Hi"),
        model(SEARCH, call()),
        tool(result()),
        model(call("c2"), provider="openai"),
        tool(result("c2")),
    ]
    body, report = sent("anthropic", history)

    assert "server_tool_use" not in str(body)
    assert (2, 0, "dropped") in [change[:3] for change in report]
