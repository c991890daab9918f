"""The buffer of a subscriber to lines, without a daemon."""

import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.reading import layout
from reel.reading.layout import Section
from reeld.serving import line_sheet
from reeld.serving.line_sheet import Patch, Sheet, patches
from tests.reel.exporting.conversation import said
from tests.reeld.serving.line_buffer import Buffer, laid_out

TEXTS = st.lists(st.sampled_from(["a", "\n", "\r", "```", "é" * 9]), max_size=8).map("".join)
IDS = st.sampled_from(["c1", "c2"])
CALLS = st.fixed_dictionaries({"type": st.just("tool_call"), "id": IDS, "name": IDS, "arguments": TEXTS})
RESULTS = st.fixed_dictionaries(
    {"type": st.just("tool_result"), "tool_call_id": IDS, "content": TEXTS, "is_error": st.booleans()}
)
BLOCKS = st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}) | CALLS | RESULTS
STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(st.lists(BLOCKS, min_size=1, max_size=3), max_size=4)),
    st.tuples(st.just("keep"), st.integers(0, 9)),
    st.tuples(st.just("prompt"), st.none() | TEXTS),
    st.tuples(st.just("draft"), st.tuples(st.integers(1, 3), st.none() | IDS, TEXTS)),
    st.tuples(st.just("type"), st.tuples(st.integers(1, 3), TEXTS)),
    st.tuples(st.just("settle"), st.sets(st.integers(1, 3))),
    st.tuples(st.just("waiting"), st.sampled_from(["", "waiting", "waiting for an approval"])),
)


class Model:
    """What a conversation is, as lists."""

    def __init__(self) -> None:
        self.system: str | None = None
        self.messages: list[Any] = []
        self.drafts: dict[int, tuple[str | None, str]] = {}
        self.newest = 0
        self.waits = ""

    def step(self, sheet: Sheet, name: str, value: Any) -> list[Patch]:
        """Do something in both, and return the patches."""
        match name:
            case "append":
                first = sheet.end
                return list(patches(first, first, self._said(sheet, value)))
            case "settle":  # a message takes the place of drafts
                first, sections = sheet.end, self._said(sheet, [[{"type": "text", "text": "said"}]])
                self.drafts = {each: draft for each, draft in self.drafts.items() if each not in value}
                rows, drafts = sheet.settle(value)
                return list(patches(first, first + rows, sections + drafts))
            case "keep":
                count = min(value, len(self.messages))
                del self.messages[count:]
                return list(sheet.keep(count))
            case "prompt":
                self.system = value
                return list(sheet.prompt(value))
            case "waiting":
                self.waits = value
                return list(sheet.waiting(value))
            case "type":  # goes on with a draft
                connection, more = value
                client, text = self.drafts.get(connection, (None, ""))
                return self._draft(sheet, connection, client, text + more)
        return self._draft(sheet, *value)

    def _said(self, sheet: Sheet, messages: list[Any]) -> list[Section]:
        sections = []
        for blocks in messages:
            self.newest += 1
            self.messages.append(said(self.newest, "user", *blocks))
            sections.append(sheet.append(self.newest, self.messages[-1]))
        return sections

    def _draft(self, sheet: Sheet, connection: int, client: str | None, text: str) -> list[Patch]:
        if text:
            self.drafts[connection] = (client, text)
        else:
            self.drafts.pop(connection, None)
        return list(sheet.draft(connection, client, text))


@given(st.lists(STEPS, max_size=12), st.integers(1, 6), st.integers(1, 40))
def test_patches_make_the_conversation(steps: list[tuple[str, Any]], most_lines: int, most_characters: int) -> None:
    """Whatever happens, all patches in order make an empty buffer that of the conversation, and none is too large."""
    sheet, model, buffer = Sheet(), Model(), Buffer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "MAX_LINE", 20)
        patch.setattr(line_sheet, "MOST_LINES", most_lines)
        patch.setattr(line_sheet, "MOST_CHARACTERS", most_characters)
        for name, value in steps:
            for each in model.step(sheet, name, value):
                assert len(each.section.lines) <= most_lines
                assert len(each.section.lines) < 2 or sum(map(len, each.section.lines)) <= most_characters
                buffer.apply(each.fields())
            assert laid_out(model.system, model.messages, model.drafts.values(), model.waits) == buffer.state
            assert len(model.messages) == sheet.messages


@given(
    st.lists(st.lists(BLOCKS, min_size=1, max_size=3), min_size=1, max_size=12), st.integers(1, 12), st.integers(0, 12)
)
def test_the_newest_messages_may_come_first(said_blocks: list[Any], count: int, kept: int) -> None:
    """If the newest messages are shown before the others, the buffer is the same in the end."""
    messages = [said(number, "user", *blocks) for number, blocks in enumerate(said_blocks, 1)]
    sheet, buffer = Sheet(), Buffer()

    def take(changes: Iterable[Patch]) -> None:
        for each in changes:
            buffer.apply(each.fields())

    take(sheet.prompt("be brief"))
    take(patches(sheet.end, sheet.end, sheet.begin_at_end((each["seq"], each) for each in messages[-count:])))
    for each in messages:
        if each["seq"] < sheet.missing:
            first, section = sheet.end, sheet.append(each["seq"], each)
            take(patches(first, first, [section]))
    sheet.join()
    messages.append(said(99, "tool", {"type": "tool_result", "tool_call_id": "c1", "content": "", "is_error": False}))
    first, section = sheet.end, sheet.append(99, messages[-1])
    take(patches(first, first, [section]))
    take(sheet.draft(1, None, "so"))

    assert laid_out("be brief", messages, [(None, "so")]) == buffer.state
    take(sheet.keep(min(kept, len(messages))))
    assert laid_out("be brief", messages[:kept], [(None, "so")]) == buffer.state


def test_newest_messages_that_are_not_completed() -> None:
    """If the conversation changes before the others are read, the newest messages go again."""
    sheet, buffer = Sheet(), Buffer()
    newest = [(9, said(9, "user", {"type": "text", "text": "new"}))]
    for each in patches(0, 0, sheet.begin_at_end(newest)):
        buffer.apply(each.fields())
    for each in sheet.keep(0):
        buffer.apply(each.fields())

    assert [] == buffer.lines
    assert (math.inf, 0) == (sheet.missing, sheet.messages)


def test_a_call_that_is_gone() -> None:
    """The tool of a call that was removed is not known, and that of an earlier call with its id is known again."""
    sheet = Sheet()
    for number, tool in enumerate(["first", "second"]):
        sheet.append(
            number, said(number, "assistant", {"type": "tool_call", "id": "c1", "name": tool, "arguments": ""})
        )
    result = said(3, "tool", {"type": "tool_result", "tool_call_id": "c1", "content": "", "is_error": False})

    list(sheet.keep(1))
    assert "### result of first c1" in sheet.append(3, result).lines
    list(sheet.keep(0))
    assert "### result c1" in sheet.append(4, result).lines


def test_a_growing_draft_is_not_sent_again() -> None:
    """Of a draft that goes on, only its last line and what is new are sent."""
    sheet = Sheet()
    list(sheet.draft(1, "x", "one\ntwo"))

    assert [(3, 5, ["two!", "three", ""])] == [
        (each.first, each.last, each.section.lines) for each in sheet.draft(1, "x", "one\ntwo!\nthree")
    ]


def test_what_is_shared_is_found_by_ids() -> None:
    """Of a conversation that has a message, the messages before it are not looked at."""
    sheet, asked = Sheet(), []
    for number in range(1000):
        sheet.append(number, said(number, "user", {"type": "text", "text": "x"}))

    def has(number: int) -> bool:
        asked.append(number)
        return number < 700

    assert 700 == sheet.shared(has)
    assert len(asked) < 12


def test_few_calls_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools of the newest calls are known, and of no more than twice as many."""
    monkeypatch.setattr(line_sheet, "_REMEMBERED", 2)
    sheet = Sheet()
    for number in range(9):
        call = {"type": "tool_call", "id": f"c{number}", "name": f"t{number}", "arguments": ""}
        sheet.append(number, said(number, "assistant", call))
    results = [
        {"type": "tool_result", "tool_call_id": f"c{number}", "content": "", "is_error": False} for number in (1, 8)
    ]

    lines = sheet.append(9, said(9, "tool", *results)).lines

    assert ["### result c1", "### result of t8 c8"] == [line for line in lines if line.startswith("###")]


def test_a_message_takes_the_place_of_its_draft() -> None:
    """One patch replaces the drafts up to the one that has ended; the others in it come again."""
    sheet = Sheet()
    for connection, text in enumerate("abc"):
        list(sheet.draft(connection, None, text))
    first, message = sheet.end, sheet.append(1, said(1, "user", {"type": "text", "text": "b."}))
    rows, drafts = sheet.settle({1})

    assert (0, 8, ["a"]) == (first, rows, [each.lines[2] for each in drafts])
    (patch,) = patches(first, first + rows, [message, *drafts])
    assert [0, 8] == patch.fields()["replace"]
    assert [0, 2] == sheet.writers


def test_when_it_may_wait_for_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may after a message that asks, and after any message while it waits; drafts and other messages ask nothing."""
    monkeypatch.setattr(line_sheet, "_REMEMBERED", 0)
    sheet, text = Sheet(), {"type": "text", "text": "one"}
    asks = {"type": "tool_call", "id": "c1", "name": "adk_request_input", "arguments": "{}"}

    def may_wait_after(seq: int, block: Any, words: str) -> bool:
        sheet.append(seq, said(seq, "assistant", block))
        may_wait = sheet.may_wait
        list(sheet.waiting(words))
        list(sheet.draft(1, None, f"draft {seq}"))
        assert not sheet.may_wait
        return may_wait

    assert not may_wait_after(1, text, "")
    assert may_wait_after(2, asks, "waiting")
    assert may_wait_after(3, text, "waiting")
    assert may_wait_after(4, text, "")
    assert not may_wait_after(5, text, "")
    sheet = Sheet()
    sheet.begin_at_end([(1, said(1, "assistant", asks))])
    assert sheet.may_wait
