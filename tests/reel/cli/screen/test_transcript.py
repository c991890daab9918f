"""A transcript shows roles, tool calls and results, also without colours."""

from typing import Any

import pytest

from reel.cli.screen.output import Line, render
from reel.cli.screen.transcript import Fold, Transcript, in_short


def shown(lines: Any) -> list[str]:
    """Return the text of lines, without styles."""
    return [render(line, colour=False) for line in lines]


def clock(milliseconds: int) -> str:
    return f"t{milliseconds}"


def message(role: str, *blocks: dict[str, Any]) -> Any:
    return {"role": role, "content": list(blocks), "provider_metadata": {}, "seq": 7, "time": 1}


def result(content: Any, is_error: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_call_id": "c1", "content": content, "is_error": is_error}


CALL = {"type": "tool_call", "id": "c1", "name": "search", "arguments": '{"q": 1}'}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text", "text": "one\ntwo"}, ["  one", "  two"]),
        ({"type": "text", "text": ""}, [""]),
        ({"type": "thinking", "text": "hm"}, ["  thinking", "    hm"]),
        ({"type": "redacted_thinking", "data": "xxxx"}, ["  thinking, redacted (4 characters)"]),
        (CALL, ["  call search  c1", '    {"q": 1}']),
        (result("done"), ["  result  c1", "    done"]),
        (result("no", is_error=True), ["  error  c1", "    no"]),
        (result([{"type": "text", "text": "inner"}]), ["  result  c1", "    inner"]),
        (
            {"type": "media", "mime_type": "image/png", "data_base64": "AAAA", "name": "a.png"},
            ["  media  image/png  a.png  3 bytes"],
        ),
        ({"type": "media", "mime_type": "image/png", "data_base64": "AAAAAA=="}, ["  media  image/png  4 bytes"]),
        ({"type": "media", "mime_type": "image/png", "url": "http://x"}, ["  media  image/png  http://x"]),
        (
            {"type": "opaque", "provider": "acme", "data_json": "{}"},
            ["  opaque block of acme", "    {}"],
        ),
        ({"type": "hologram"}, ["  block of type hologram (a newer reel can show it)"]),
    ],
)
def test_each_block_has_its_form(block: dict[str, Any], expected: list[str]) -> None:
    """Each type of block has its form, and an unknown type is named."""
    assert ["assistant  #7  t1", *expected] == shown(Transcript(None, clock).message(message("assistant", block)))


def test_the_original_time_is_shown() -> None:
    """A message that came from elsewhere is shown with its original time."""
    imported = message("user", {"type": "text", "text": "hi"})
    imported["sent"] = 5

    assert ["user  #7  t5", "  hi"] == shown(Transcript(None, clock).message(imported))


def test_result_names_the_tool_of_its_call() -> None:
    """A result names the tool of its call."""
    paper = Transcript(None, clock)
    list(paper.message(message("assistant", CALL)))

    assert "  result of search  c1" in shown(paper.message(message("tool", result("done"))))


def test_transcript_fits_the_terminal() -> None:
    """The margin counts."""
    lines = shown(Transcript(14, clock).message(message("user", {"type": "text", "text": "twelve chars or more"})))

    assert ["user  #7  t1", "  twelve chars", "  or more"] == lines


def test_prompt_comes_first() -> None:
    """The system prompt looks like a message of the system."""
    assert ["system", "  Be brief."] == shown(Transcript(None, clock).prompt("Be brief."))


def test_control_characters_in_a_message_are_escaped() -> None:
    """A message cannot clear the screen, or imitate another message."""
    lines = shown(Transcript(40, clock).message(message("assistant", {"type": "text", "text": "\x1b[2J\rhi"})))

    assert "  \\x1b[2J\\rhi" == lines[1]


@pytest.mark.parametrize(
    ("kind", "style"), [("tool_call", "assistant"), ("tool_result", "tool"), ("system", "system"), ("user", "user")]
)
def test_record_has_its_kind_and_its_data(kind: str, style: str) -> None:
    """A record is shown as it is stored."""
    record: Any = {"seq": 3, "kind": kind, "content": "said", "data_json": '{"a":1}', "time": 2}

    lines: list[Line] = list(Transcript(None, clock).record(record))

    assert (kind, style) == lines[0][0]
    assert [f"{kind}  #3  t2", "  said", '  {"a":1}'] == shown(lines)


def test_blank_line_between_messages() -> None:
    """A blank line separates two messages; none comes before the first or after the last."""
    paper = Transcript(None, clock)
    said = message("user", {"type": "text", "text": "hi"})

    assert ["user  #7  t1", "  hi", "", "user  #7  t1", "  hi"] == shown([*paper.message(said), *paper.message(said)])


def test_code_is_not_indented() -> None:
    """A text is indented below its heading, code in fences is not."""
    lines = shown(Transcript(40, clock).message(message("user", {"type": "text", "text": "See:\n```\na = 1\n```\n"})))

    assert ["  See:", "```", "a = 1", "```"] == lines[1:]


@pytest.mark.parametrize(
    ("fold", "brief", "expected"),
    [
        (None, False, ["    1", "    2", "    3", "    4"]),
        (Fold(4, 2), False, ["    1", "    2", "    3", "    4"]),
        (Fold(3, 2), False, ["    1", "    2", "    … 2 more lines: reel show demo 7"]),
        (None, True, ["    1", "    … 3 more lines: reel show demo 7"]),
    ],
)
def test_folded_result(fold: Fold | None, brief: bool, expected: list[str]) -> None:
    """A result that is too long is folded, with the command that shows all of it."""
    result = {"type": "tool_result", "tool_call_id": "c1", "content": "1\n2\n3\n4", "is_error": False}
    paper = Transcript(None, clock, fold=fold, brief=brief, unfold="reel show demo")

    assert expected == shown(paper.message(message("tool", result)))[2:]


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([{"type": "text", "text": "one\ntwo"}], "one two"),
        ([{"type": "tool_call", "id": "c1", "name": "grep", "arguments": "{}"}], "calls grep"),
        ([{"type": "tool_result", "tool_call_id": "c1", "content": "a\nb", "is_error": False}], "a b"),
        ([{"type": "tool_result", "tool_call_id": "c1", "content": [], "is_error": False}], "a result"),
        ([{"type": "media", "mime_type": "image/png", "url": "https://x"}], "media  image/png  https://x"),
        ([{"type": "thinking", "text": "Hm."}], "no text"),
    ],
)
def test_message_in_short(blocks: list[Any], expected: str) -> None:
    """A message in a few words is its text, or what it has in place of a text."""
    assert expected == in_short(message("assistant", *blocks))
