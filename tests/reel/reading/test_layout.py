"""One layout of a message: what is shown of each block, and how it looks as lines."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.reading import layout
from reel.reading.layout import Layout, Section, draft_section, prompt_section
from reel.reading.wording import safe
from tests.editors import alike
from tests.reel.exporting.conversation import said

# What breaks lines, imitates headings and fences, or is obeyed by a terminal.
HOSTILE = st.sampled_from(
    [
        "\n",
        "\r\n",
        "\r",
        "\n## user #1\n",
        "```",
        "\n````\n",
        "\x1b[2J",
        "\t",
        "\x85",
        "\u2028",
        "\u2029",
        "\u202e",
        "\x00",
    ]
)
TEXTS = st.lists(HOSTILE | st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=6).map("".join)
MEDIA = st.fixed_dictionaries({"type": st.just("media"), "mime_type": TEXTS, "url": TEXTS, "name": TEXTS})
OPAQUE = st.fixed_dictionaries({"type": st.just("opaque"), "provider": TEXTS, "data_json": TEXTS})
TEXT = st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS})
INNER = st.lists(TEXT | MEDIA | OPAQUE, min_size=1, max_size=3)
BLOCKS = st.one_of(
    TEXT,
    MEDIA,
    OPAQUE,
    st.fixed_dictionaries({"type": st.just("thinking"), "text": TEXTS}),
    st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": TEXTS}),
    st.fixed_dictionaries({"type": st.just("tool_call"), "id": TEXTS, "name": TEXTS, "arguments": TEXTS}),
    st.fixed_dictionaries(
        {"type": st.just("tool_result"), "tool_call_id": TEXTS, "content": TEXTS | INNER, "is_error": st.booleans()}
    ),
    st.fixed_dictionaries({"type": st.just("hologram"), "text": TEXTS}),
)
FOLDED = ("thinking", "tool_call", "tool_result", "opaque")
CONTENTS = st.lists(BLOCKS, min_size=1, max_size=4)


def lines_of(text: str) -> list[str]:
    """Return the lines that a text should have, with what must not be obeyed as escapes."""
    return [safe(line) for line in text.replace("\r\n", "\n").split("\n")]


def texts_in(block: dict[str, Any]) -> list[str]:
    """Return the texts of a block that a person reads, in their order."""
    match block["type"]:
        case "text" | "thinking":
            return [block["text"]]
        case "tool_call":
            return [block["arguments"]]
        case "opaque":
            return [block["data_json"]]
        case "tool_result" if isinstance(block["content"], str):
            return [block["content"]]
        case "tool_result":
            return [text for inner in block["content"] for text in texts_in(inner)]
    return []


def own_lines(block: dict[str, Any]) -> int:
    """Return how many lines of ours a block has: its label, its fences, and the blank line below it."""
    match block["type"]:
        case "text":
            return 1
        case "tool_result" if not isinstance(block["content"], str):
            return 4 + sum(own_lines(inner) - 1 for inner in block["content"])
        case "tool_call" | "opaque" | "tool_result":
            return 4
    return 2


@given(CONTENTS)
def test_every_character_is_in_the_lines(content: Any) -> None:
    """Each text is there in whole, in its order, and nothing else has a line but what is ours."""
    made = Layout().message(said(7, "assistant", *content))
    texts = [text for block in content for text in texts_in(block)]

    left = made.lines
    for text in texts:
        wanted = lines_of(text)
        at = next(row for row in range(len(left)) if left[row : row + len(wanted)] == wanted)
        left = left[at + len(wanted) :]
    assert 2 + sum(map(own_lines, content)) + sum(len(lines_of(text)) for text in texts) == len(made.lines)


@given(CONTENTS, TEXTS)
def test_nothing_in_the_lines_is_obeyed(content: Any, client: str) -> None:
    """No line has a control character but tabs, a line break, or what changes the direction of writing."""
    made = Layout().message(said(7, "user", *content))
    every = [*made.lines, *prompt_section(client).lines, *draft_section(client, client).lines]

    found = {char for line in every for char in line}
    assert set() == {char for char in found if unicodedata.category(char) in ("Cc", "Zl", "Zp")} - {"\t"}
    assert set() == found & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@given(CONTENTS)
def test_folds_begin_at_labels(content: Any) -> None:
    """A fold is a label and all that is below it; folds do not overlap, and what is said is in none."""
    made = Layout().message(said(7, "assistant", *content))
    folded = [row for first, last in made.folds for row in range(first, last + 1)]

    assert sum(block["type"] in FOLDED for block in content) == len(made.folds)
    assert sorted(set(folded)) == folded
    assert all(made.lines[first].startswith("### ") and not made.lines[last + 1] for first, last in made.folds)


@given(TEXTS)
def test_a_fence_ends_where_it_should(output: str) -> None:
    """No line of what a tool returned can be taken for the end of its fence."""
    result = {"type": "tool_result", "tool_call_id": "c1", "content": output, "is_error": False}
    lines = Layout().message(said(7, "tool", result)).lines

    fence = lines[3]
    assert set("`") == set(fence)
    assert [3, len(lines) - 2] == [row for row, line in enumerate(lines) if fence in line]


@given(TEXTS, st.integers(4, 12))
def test_what_is_cut_is_counted(text: str, longest: int) -> None:
    """A line has at most so many bytes, and a mark says how many characters are not there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "MAX_LINE", longest)
        made = Section([], [], [], [])
        made.write(*lines_of(text))

    marks = dict(made.marks)
    assert all(len(line.encode()) <= longest for line in made.lines)
    for row, (whole, line) in enumerate(zip(lines_of(text), made.lines, strict=True)):
        more = len(whole) - len(line)
        assert whole.startswith(line)
        assert (f"… {more} more characters" if more else None) == marks.get(row)


def test_a_conversation_as_in_the_editors() -> None:
    """The lines are those that the editors show of a conversation with every kind of block."""
    laid_out = Layout()
    sections = [prompt_section(alike.PROMPT)]
    for seq, message in enumerate(alike.MESSAGES, 3):
        blocks = message["content"]
        content = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        sections.append(laid_out.message(said(seq, message["role"], *content)))
    sections.append(draft_section("python", alike.DRAFT))

    assert alike.SHOWN == [line for section in sections for line in section.lines if line]


def test_headings_say_who_and_when() -> None:
    """A heading has the role, the seq and the original time."""
    message = said(7, "user", {"type": "text", "text": "hi"})
    message["sent"] = 5

    assert [(0, "user", 7, 5)] == Layout().message(message).headings
    assert [(0, "draft", None, None)] == draft_section("x", "hi").headings


def test_an_answer_that_broke_off_says_so() -> None:
    """Beside its heading, where it is no part of the text: that it is not whole, and that it came late."""
    message = said(4, "assistant", {"type": "text", "text": "A mach"})
    plain = Layout().message(message)
    message["provider_metadata"] = {"broke_off": "the answer broke off", "late": 1}
    marked = Layout().message(message)

    assert plain.lines == marked.lines
    assert ([], [(0, "not whole: it broke off; does not answer the message above it")]) == (plain.marks, marked.marks)


def test_of_two_results_of_a_call_the_later_one_says_that_it_counts() -> None:
    """A tool that asks before it does something answers twice; a call that is made again has a result of its own."""
    layout = Layout()
    layout.learn([{"type": "tool_call", "id": "c1", "name": "look", "arguments": ""}])
    result = {"type": "tool_result", "tool_call_id": "c1", "content": "", "is_error": False}
    again = {"type": "tool_call", "id": "c1", "name": "look", "arguments": ""}
    shown = layout.blocks([result, result, {**result, "is_error": True}, again, result])

    assert [
        "result of look",
        "later result of look, which counts",
        "later error of look, which counts",
        "call look",
        "result of look",
    ] == [each.label for each in shown]
    layout = Layout()
    layout.learn([result])
    assert ["later result, which counts"] == [each.label for each in layout.blocks([result])]


def test_questions_decisions_and_hand_offs() -> None:
    """An approval reads as a question with its answer, and a hand-off says who goes on."""
    shown = Layout()

    def lines(role: Any, *blocks: Any, **metadata: Any) -> list[str]:
        return shown.message({**said(1, role, *blocks), "provider_metadata": metadata}).lines[:-1]

    asks = {"type": "tool_call", "id": "a", "name": "adk_request_input", "arguments": '{"message": "Which?"}'}
    moves = {"type": "tool_call", "id": "t", "name": "transfer_to_agent", "arguments": '{"agent_name": "deck"}'}
    tool = {"type": "tool_call", "id": "u", "name": "transfer_to_reel", "arguments": "{}"}
    approval = {"type": "function_approval_request", "name": "delete", "arguments": '{"n": 1}'}

    def result(call: str, content: str) -> Any:
        return {"type": "tool_result", "tool_call_id": call, "content": content, "is_error": False}

    assert ["## assistant #1", "", "### asks a question a", "```", "Which?", "```"] == lines("assistant", asks)
    assert ["## tool #1", "", "### answered a", "the blue one"] == lines("tool", result("a", "the blue one"))
    assert ["## assistant #1", "", "### hands over to deck t"] == lines("assistant", moves)
    assert "### call transfer_to_reel u" in lines("assistant", tool)
    assert ["## tool #1", "", "### handed over to reel u"] == lines("tool", result("u", '{"assistant": "reel"}'))
    assert "### later result of transfer_to_reel, which counts u" in lines("tool", result("u", '{"assistant": 3}'))
    opaque = {"type": "opaque", "provider": "x", "data_json": json.dumps(approval)}
    named = {"item": {"form": {"author_name": "deck", "usage": {"input_tokens": 12, "output_tokens": 5}}}}
    assert ["## assistant · deck #1", "", "### asks for an approval of delete", "```json"] == lines(
        "assistant", opaque, **named
    )[:4]
    marked = shown.message({**said(1, "assistant", opaque), "provider_metadata": named})
    assert [(0, "12 in, 5 out")] == marked.marks
