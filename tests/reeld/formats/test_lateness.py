"""An answer that came after others had spoken is rendered directly behind what it answers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeld.formats.body import RenderRequest
from reeld.formats.prefix import Prefix
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from reeld.formats.table import FORMATS
from tests.reeld.formats.histories import call, entries_of, model, result, tool, user
from tests.reeld.formats.rendering import ask

# Bedrock's tools are declared because of the calls (rule B7), so a first call would change what is before it.
TOOLS = {"toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {}}}}]}}
SENDING = [name for name, found in FORMATS.items() if found.read_response is not None]


def late(count: int, *blocks: Any) -> dict[str, Any]:
    """Return an answer that so many messages passed."""
    return model(*blocks, late=count)


def without(message: Any) -> Any:
    """Return a message as one that was at its place at once."""
    return {key: value for key, value in message.items() if key != "provider_metadata"}


@pytest.mark.parametrize(
    ("stored", "rendered"),
    [
        (["U1", "U2", late(1, "A1")], [0, 2, 1]),
        (["U1", "U2", "U3", late(2, "A1")], [0, 3, 1, 2]),
        (["U1", "U2", late(1, "A1"), "U3", late(1, "A2")], [0, 2, 1, 4, 3]),
        (["U1", "U2", late(1, call()), tool(result())], [0, 2, 1, 3]),
        (["U1", model(call()), tool(result()), "U2", late(1, "A1")], [0, 1, 2, 4, 3]),
        # No answer passes another one, and none passes more than there is.
        (["U1", model("A0"), late(1, "A1")], [0, 1, 2]),
        (["U1", model("A0"), "U2", late(7, "A1")], [0, 1, 3, 2]),
        (["U1", late(True, "A1"), model("A2", late="1")], [0, 1, 2]),
    ],
)
@pytest.mark.parametrize("name", SENDING)
def test_a_late_answer_is_rendered_at_its_place(name: str, stored: list[Any], rendered: list[int]) -> None:
    """The body is that of the messages in the order in which they answer each other."""
    ordered = [stored[index] for index in rendered]
    plain = [without(each) if isinstance(each, dict) else each for each in ordered]

    assert ask(plain, name).body == ask(stored, name).body


@st.composite
def _logs(draw: st.DrawFn) -> list[Any]:
    """Make logs as daemons write them: an answer passes messages since the assistant spoke last."""
    log: list[Any] = []
    since = 0
    for number in range(draw(st.integers(1, 12))):
        if draw(st.booleans()) and since:
            passed = draw(st.integers(0, since - 1))
            said: list[Any] = [f"A{number}", call(f"c{number}")][: draw(st.integers(1, 2))]
            log.append(late(passed, *said) if passed else model(*said))
            since = 0
            if len(said) > 1 and draw(st.booleans()):
                log.append(tool(result(f"c{number}")))
                since = 1
        else:
            log.append(user(f"U{number}"))
            since += 1
    return log


@pytest.mark.parametrize("name", SENDING)
@given(log=_logs())
def test_a_rendering_only_grows(name: str, log: list[Any]) -> None:
    """Each rendering begins with what was settled in those before it, and is the one that is made at once."""
    kept: RenderState | None = None
    before: Prefix | None = None
    for end in range(1, len(log) + 1):
        entries = entries_of(log[:end])
        asked = RenderRequest(name, extra=TOOLS if name == "bedrock-converse" else None, after=before)
        grown, kept = render(asked, entries, None, kept)

        assert render(asked, entries)[0] == grown
        assert grown.extends is not False
        before = grown.prefix
