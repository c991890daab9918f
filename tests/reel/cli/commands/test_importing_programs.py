"""``reel import`` of what other programs have written so far, and of what they write later."""

from pathlib import Path
from typing import Any

import pytest

from reel.sync.client import Client
from tests.reel.cli.conftest import Reel
from tests.reel.importing.chats import Lines, made_call, part
from tests.reel.importing.programs import PROGRAMS


def outline(reel: Reel, agent: str) -> list[tuple[str, Any]]:
    """Return what is in a conversation: for each message the role, and the text, the tool's name or its result."""
    messages = reel("show", agent, "--json").documents
    blocks = [(message["role"], block) for message in messages for block in message["content"]]
    return [(role, block.get("text") or block.get("name") or _text(block["content"])) for role, block in blocks]


def _text(content: Any) -> str:
    return content if type(content) is str else "".join(block["text"] for block in content)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_history_that_grows(reel: Reel, client: Client, name: str, program: str, tmp_path: Path) -> None:
    """A history is imported with its calls; imported again it adds nothing, and when it has grown, what is new."""
    (prefix, write), session = PROGRAMS[program], name.lower()[-20:].strip("-")
    agent, tool = f"{prefix}{session}", program.removesuffix("-2").removesuffix("-old")
    outcomes, heads = [], []
    for turns in (1, 1, 2):
        ran = reel("import", tool, str(write(tmp_path / "home", session, turns)))
        outcomes.append((ran.status, ran.out.splitlines()[0].partition(": ")[2], ran.err))
        (tmp_path / "reel/imported.json").unlink()
        heads.append(client.agent(agent).head)

    turn = [("user", "Ask 0"), ("assistant", "ls"), ("tool", "x.py"), ("assistant", "Answer 0")]
    assert outline(reel, agent) == [*turn, *((role, what.replace("0", "1")) for role, what in turn)]
    assert [
        (0, "1 conversation imported; 4 messages", ""),
        (0, "nothing new in 1 conversation", ""),
        (0, "1 went on; 4 messages", ""),
    ] == outcomes
    assert heads[0] == heads[1]


def session_of(name: str) -> Lines:
    """Return a session of Gemini CLI with calls, a rewind, a compression, and a list that repeats the conversation."""
    calls = [made_call("c1", "one"), made_call("c2", "two")]
    results = [part("ls", "c1", output="one"), part("ls", "c2", output="two")]
    made = Lines(name).user("x1", "<session_context>").user("u1", "Hi").answer("a1", "So")
    made.answer("a1", "So", toolCalls=calls[:1]).answer("a1", "So", toolCalls=calls).user("r1", results)
    made.answer("a2", "Done").user("u2", "Wrong").record(**{"$rewindTo": "u2"}).user("u3", "Right").answer("a3", "Fine")
    kept = Lines().user("s1", "Sum").answer("s2", "OK").user("u3", "Right").answer("a3", "Fine")
    made.replaced(kept).user("u4", "More")
    return made.replaced(Lines().user("x2", "<session_context>"), kept, Lines().user("u4", "More")).answer("a4", "Bye")


@pytest.mark.slow
def test_a_session_that_is_cut_anywhere(reel: Reel, client: Client, name: str, tmp_path: Path) -> None:
    """A session of Gemini CLI that is imported at any line, and again when it is complete, is as if imported once."""
    prefix, chats = name.lower()[-20:].strip("-"), tmp_path / "chats"
    chats.mkdir()
    sessions = {cut: session_of(f"{prefix}-{cut}").lines() for cut in range(len(session_of("x").lines()) + 1)}
    for end in (None, len(sessions)):
        for cut, lines in sessions.items():
            (chats / f"session-{cut}.jsonl").write_text("".join(lines[: end or cut]) + '{"id": "to' * (end is None))
        errors = reel("import", "gemini-cli", str(chats)).err

    ends = [outline(reel, f"gemini-cli/{prefix}-{cut}") for cut in sessions]
    assert ends == [ends[-1]] * len(sessions)
    assert ["<session_context>", "Sum", "OK", "Right", "Fine", "More", "Bye"] == [what for _, what in ends[0]]
    assert client.agent(f"gemini-cli/{prefix}-0").messages == len(ends[0])
    assert "" == errors
