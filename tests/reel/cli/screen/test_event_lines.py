"""An event of the log is shown in one line."""

import json
from typing import Any

import pytest

from reel.cli.screen.event_lines import EventLines
from reel.cli.screen.output import render
from reel.reading.gist import gist
from reel.reading.wording import cells


def event(kind: str, content: str | None = None, data_json: str | None = None) -> Any:
    return {"seq": 12, "time": 5, "kind": kind, "content": content, "data_json": data_json}


def _blocks(*blocks: Any) -> str:
    return json.dumps({"blocks": blocks})


def _opaque(**data: Any) -> str:
    return _blocks({"type": "opaque", "provider": "p", "data_json": json.dumps(data)})


def lines(width: int | None = None) -> EventLines:
    return EventLines(width, lambda ms: f"t{ms}", lambda agent: f"name-of-{agent}")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (event("user", "one\ntwo"), "one two"),
        (event("clear"), ""),
        (event("user", "look", '{"blocks":[{"type":"media","mime_type":"image/png","url":"http://x"}]}'), "look"),
        (
            event("user", "", '{"blocks":[{"type":"media","mime_type":"image/png","data_base64":"AAA="}]}'),
            "media image/png 2 bytes",
        ),
        (event("user", "", '{"blocks":[null,{"type":"media"},{"type":7},{"type":"text"}]}'), ""),
        (event("user", "", '{"blocks":[null,{"type":"media"}]}'), "(media)"),
        (event("user", "", '{"blocks":[{"type":"opaque","provider":"p","data_json":"{}"}]}'), "(block of p)"),
        (event("assistant", "", _opaque(type="compaction", id="c")), "(compaction of p)"),
        (event("assistant", "", _opaque(type=7, kind="PauseEvent")), "(PauseEvent of p)"),
        (event("assistant", "", '{"blocks":[{"type":"tool_call","name":"look"},{"type":"tool_call"}]}'), "call look"),
        (
            event(
                "assistant",
                "",
                _blocks({"type": "tool_call", "id": "c", "name": "adk_request_input", "arguments": "{}"}),
            ),
            "asks a question",
        ),
        (event("assistant", "", _opaque(type="approval_request", name="delete")), "asks for an approval of delete"),
        (event("user", "", _opaque(type="approval_response", approved=False)), "refused"),
        (event("user", "", '{"blocks":[{"type":"opaque","data_json":7}]}'), "(block of a provider)"),
        (event("mark", None, '{"label":"draft"}'), "draft"),
        (event("rewind", None, '{"label":null,"target":4}'), "to #4"),
        (event("rewind", None, '{"label":"draft","target":4}'), "to draft (#4)"),
        (event("rewind", None, '{"before":4}'), "to before #4"),
        (event("restore", None, '{"to":6,"undoes":7}'), "to #6, undoes #7"),
        (event("clone", None, '{"from":"01a2","at":4}'), "from name-of-01a2 at #4"),
        (event("agent_killed", None, '{"reason":"done","cascade":true}'), "with its clones, reason done"),
        (event("agent_killed", None, '{"by":"01a2","cascade":true}'), "with name-of-01a2"),
        (event("agent_killed", None, '{"by":"01a2"}'), "by name-of-01a2"),
        (
            event("usage", None, '{"provider":"p","model":"m","usage":{"input_tokens":3000,"output_tokens":4}}'),
            "3,000 in, 4 out, p, m",
        ),
        (event("usage", None, '{"usage":{"seconds":3}}'), 'usage {"seconds": 3}'),
        (event("tool_result", None, '{"tool_call_id":"c","output":"the\\nfile","success":true}'), "the file"),
        (
            event(
                "tool_result",
                None,
                '{"blocks":[{"type":"tool_result","tool_call_id":"c","content":"the\\nfile"},{"type":"tool_result",'
                '"content":[{"type":"text","text":"and"},{"type":"media","mime_type":"image/png","url":"x"}]}]}',
            ),
            "the file and media image/png x",
        ),
        (event("tool_result", None, '{"blocks":[{"type":"tool_result","content":7},{"type":"tool_result"}]}'), "7"),
        (event("assistant", "", '{"blocks":[{"type":"thinking","text":"hm"}]}'), "(thinking) hm"),
        (event("assistant", "", '{"blocks":[{"type":"redacted_thinking","data":"x"}]}'), "(redacted_thinking)"),
        (event("changed", None, '{"tags":{"a":"b"},"marks":[]}'), "tags a=b, marks []"),
        (event("note", None, "no json"), "no json"),
        (event("state", "k", '{"value":{"a":[1]}}'), 'k = {"a": [1]}'),
        (event("state", "k", '{"value_json":"[1]"}'), "k = [1]"),
        (event("state", "k"), "k removed"),
        (event("state", "k", "no json"), "k = no json"),
        ({**event("user", "one\ntwo"), "damaged": True}, "(damaged) one two"),
        (event("note", None, "[1, 2]"), "[1, 2]"),
        (event("note", None, "[" * 100_000), "[" * 1000),
    ],
)
def test_gist_of_an_event(given: Any, expected: str) -> None:
    """The content comes first, otherwise the data, whatever it contains."""
    assert expected == gist(given, lambda agent: f"name-of-{agent}")


def test_line_has_seq_time_kind_and_content() -> None:
    """A line begins with the seq, the time and the kind."""
    assert "   #12  t5  user          hello" == render(lines().layout(event("user", "hello")), colour=False)


@pytest.mark.parametrize(
    "content", ["wörd " * 100, "\x1b[31mred\x1b[0m " * 20, "\u202e" * 100], ids=["text", "escapes", "directions"]
)
@pytest.mark.parametrize("width", [40, 80])
def test_event_line_fits_the_terminal(width: int, content: str) -> None:
    """A long content is cut after its characters are escaped, so that an event stays one line."""
    line = render(lines(width).layout(event("assistant", content)), colour=False)

    assert width - 1 <= cells(line) <= width
    assert line.endswith("…")


def test_the_original_time_is_shown() -> None:
    """An event that came from elsewhere is shown with its original time."""
    imported = event("user", "hi")
    imported["sent"] = 3

    assert "t3" in render(lines().layout(imported), colour=False)
