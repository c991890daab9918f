"""The pure parts of the plug-in for Neovim: the copy of a conversation, and its layout."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.editors.nvim.driver import Nvim

PAGE = 2


@pytest.fixture(scope="module")
def lua(program: str) -> Iterator[Nvim]:
    """A Neovim without a daemon."""
    with Nvim(program, {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TZ": "UTC", "LANG": "C.UTF-8"}) as nvim:
        nvim.lua("copy, view = require('reel.copy'), require('reel.view')")
        yield nvim


class Log:
    """A naive daemon: it stores each state completely, as the seqs of its messages, and computes the pushes."""

    def __init__(self) -> None:
        self.states: list[list[int]] = [[]]

    def go_to(self, state: list[int], kind: str) -> dict[str, Any]:
        """Move to a state, and return the push."""
        before, seq = self.states[-1], len(self.states)
        keep = next((i for i, (a, b) in enumerate(zip(before, state, strict=False)) if a != b), None)
        if keep is None:
            keep = min(len(before), len(state))
        self.states.append(state)
        push: dict[str, Any] = {"kind": kind, "seq": seq, "keep": keep, "count": len(state)}
        if kind == "user":
            push["message"] = {"seq": seq}
        return push

    def page(self, request: dict[str, int]) -> dict[str, Any]:
        """Return the reply to a request."""
        later = [seq for seq in self.states[request["at"]] if seq > request["since"]]
        messages = [{"seq": seq} for seq in later[:PAGE]]
        return {"messages": messages, "more": len(later) > PAGE, "system": f"prompt at {request['at']}"}


# The next step: an add, a move to the state at a fraction of the log, a reply that arrives, or a reset.
STEPS = st.lists(st.one_of(st.just("add"), st.floats(0, 1), st.just("answer"), st.just("reset")), max_size=40)


@given(steps=STEPS)
def test_the_copy_ends_as_the_log(lua: Nvim, steps: list[str | float]) -> None:
    """Whatever is pushed during whatever is read, the copy ends equal to the log, including the prompt."""
    log, asked = Log(), None
    lua.lua("it = copy.new(0)")

    def ask() -> dict[str, int]:
        found: dict[str, int] = lua.lua("return copy.request(it, 'demo')")
        return found

    def answer(request: dict[str, int]) -> dict[str, int] | None:
        lua.lua("copy.page(it, ...)", log.page(request))
        return ask() if lua.lua("return it.reading") else None

    asked = ask()
    for step in steps:
        if step == "answer":
            asked = answer(asked) if asked else None
        elif step == "reset":
            asked = ask() if lua.lua("return copy.reset(it)") else asked
        else:
            add = step == "add"
            state = [*log.states[-1], len(log.states)] if add else log.states[int(float(step) * (len(log.states) - 1))]
            push = log.go_to(state, "user" if add else "restore")
            begin = lua.lua("return select(2, copy.event(it, ...))", push)
            assert not (begin and asked)
            asked = ask() if begin else asked
    while asked:
        asked = answer(asked)

    assert log.states[-1] == [message["seq"] for message in lua.lua("return it.messages")]
    moved = [at for at in range(1, len(log.states)) if log.states[at][-1:] != [at]]
    prompt = int(lua.lua("return it.system").removeprefix("prompt at "))
    assert prompt >= max(moved, default=0)


def test_the_copy_returns_what_is_unchanged(lua: Nvim) -> None:
    """An event and a page return how many leading messages are unchanged."""
    lua.lua("it = copy.new(3)")
    page = {"messages": [{"seq": 1}, {"seq": 2}, {"seq": 3}], "more": False}

    assert 0 == lua.lua("return copy.page(it, ...)", page)
    grown = {"kind": "user", "seq": 4, "keep": 3, "count": 4, "message": {"seq": 4}}
    assert [3, False] == lua.lua("return {copy.event(it, ...)}", grown)
    assert [1, True] == lua.lua("return {copy.event(it, ...)}", {"kind": "restore", "seq": 5, "keep": 1, "count": 2})


def text(message: dict[str, Any], lua: Nvim) -> tuple[list[str], list[str]]:
    """Return a message's lines and their fold levels, without its heading."""
    whole = {"role": "user", "seq": 1, "time": 0, **message}
    section = lua.lua("return view.message(..., {}, view.clock)", whole)
    return section["lines"][2:], section["levels"][2:]


@pytest.mark.parametrize(
    ("block", "lines", "levels"),
    [
        ({"type": "text", "text": ""}, [""], "0"),
        ({"type": "text", "text": "a\n\n b\r\n"}, ["a", "", " b\r", ""], "0000"),
        ({"type": "thinking", "text": "hm"}, ["### thinking", "hm"], "11"),
        (
            {"type": "tool_call", "id": "i", "name": "n", "arguments": '{"a": "```"}'},
            ["### call n i", "````json", '{"a": "```"}', "````"],
            "1111",
        ),
        (
            {"type": "tool_result", "tool_call_id": "i", "content": "no", "is_error": True},
            ["### error i", "```", "no", "```"],
            "1111",
        ),
        (
            {
                "type": "tool_result",
                "tool_call_id": "i",
                "is_error": False,
                "content": [
                    {"type": "text", "text": "a\nb"},
                    {"type": "media", "mime_type": "image/png", "data_base64": "AAAA"},
                    {"type": "opaque", "provider": "openai", "data_json": "{}"},
                ],
            },
            [
                *("### result i", "````", "a", "b", "### media image/png 3 bytes"),
                *("### opaque block of openai", "```json", "{}", "```", "````"),
            ],
            "1111111111",
        ),
        (
            {"type": "media", "mime_type": "image/png", "data_base64": "AAA=", "name": "cat"},
            ["### media image/png cat 2 bytes"],
            "0",
        ),
        (
            {"type": "media", "mime_type": "image/png", "url": "http://x/y"},
            ["### media image/png http://x/y"],
            "0",
        ),
        ({"type": "redacted_thinking", "data": "xyz"}, ["### thinking, redacted (3 characters)"], "0"),
        (
            {"type": "opaque", "provider": "gemini", "data_json": "{}"},
            ["### opaque block of gemini", "```json", "{}", "```"],
            "1111",
        ),
        ({"type": "hologram"}, ["### block of type hologram (a newer plug-in can show it)"], "0"),
    ],
)
def test_the_lines_of_each_kind_of_block(lua: Nvim, block: dict[str, Any], lines: list[str], levels: str) -> None:
    """Each type of block has its lines and fold levels; an unknown type is named."""
    shown, depths = text({"content": [block]}, lua)

    assert [*lines, ""] == shown
    assert levels + "0" == "".join(depth[-1] for depth in depths)
    assert [row for row, depth in enumerate(depths) if depth == ">1"] == ([0] if "1" in levels else [])


def test_a_heading_has_role_and_seq(lua: Nvim) -> None:
    """A heading has role and seq; its virtual text has the date and time."""
    message = {"role": "assistant", "seq": 7, "time": 1_700_000_000_500, "content": []}
    section = lua.lua("return view.message(..., {}, view.clock)", message)

    assert ["## assistant #7", ""] == section["lines"]
    assert [{"row": 0, "text": "· 2023-11-14 22:13:20", "colour": "ReelAssistant"}] == section["marks"]


def test_a_result_names_its_tool(lua: Nvim) -> None:
    """A result has the name of the tool that was called, also if the call is in an earlier message."""
    call = {"type": "tool_call", "id": "i", "name": "look", "arguments": "{}"}
    result = {"type": "tool_result", "tool_call_id": "i", "content": "seen"}
    make = "local tools = {}; for _, m in ipairs(...) do made = view.message(m, tools, view.clock) end; return made"
    messages = [{"role": "user", "seq": 1, "time": 0, "content": [block]} for block in (call, result)]

    assert "### result of look i" == lua.lua(make, messages)["lines"][2]


@pytest.mark.parametrize(
    ("client", "heading"), [("vim", "## assistant · writing… (vim)"), (None, "## assistant · writing…")]
)
def test_the_heading_of_a_draft(lua: Nvim, client: str | None, heading: str) -> None:
    """The heading of a draft has the name of its client, if it has one."""
    assert (
        heading == lua.lua("local c, t = ...; return view.draft(c ~= vim.NIL and c or nil, t)", client, "x")["lines"][0]
    )


def test_a_name_with_a_line_break_stays_in_its_line(lua: Nvim) -> None:
    """A line break in the name of a client or a tool does not begin another line."""
    block = {"type": "tool_call", "id": "i\n## user #9", "name": "n\r\n## user #9", "arguments": "{}"}

    assert (
        "## assistant · writing… (a ## user #9)" == lua.lua("return view.draft(...)", "a\n## user #9", "x")["lines"][0]
    )
    assert "### call n ## user #9 i ## user #9" == text({"content": [block]}, lua)[0][0]
