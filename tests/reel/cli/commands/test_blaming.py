"""``reel blame``."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from reel.said.messages import COMPACTED, MediaBlock, NewMessage, NewToolCallBlock, ToolResultBlock
from reel.sync.client import Client
from tests.reel.cli.conftest import Reel

_ROOT = Path(__file__).parents[4]
CODE = "def first_answer():\n    return 42\n"


def wrote(
    client: Client, name: str, path: Path | str, text: str, before: str | None = None, *, every: bool = False
) -> int:
    """Have a tool of a conversation write a file, or replace a text in it, and return the message."""
    texts = {"content": text} if before is None else {"old_string": before, "new_string": text, "replace_all": every}
    call = f"call-{path}-{len(text)}-{before}"
    arguments = json.dumps({"file_path": str(path), **texts})
    tool = "Write" if before is None else "Edit"
    block: NewToolCallBlock = {"type": "tool_call", "id": call, "name": tool, "arguments": arguments}
    result: ToolResultBlock = {"type": "tool_result", "tool_call_id": call, "content": "done", "is_error": False}
    said: list[NewMessage] = [{"role": "assistant", "content": [block]}, {"role": "tool", "content": [result]}]
    return client.add(name, said).first


def ran(client: Client, name: str, command: str) -> None:
    """Have a tool of a conversation run a command."""
    block: NewToolCallBlock = {
        "type": "tool_call", "id": command, "name": "Bash", "arguments": json.dumps({"command": command})
    }  # fmt: skip
    result: ToolResultBlock = {"type": "tool_result", "tool_call_id": command, "content": "x", "is_error": False}
    client.add(name, [{"role": "assistant", "content": [block]}, {"role": "tool", "content": [result]}])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_lines_of_a_file(reel: Reel, client: Client, name: str, place: Path) -> None:
    """Each line has the conversation, the message, the time and the tool that wrote it; a person's has none."""
    client.create(name)
    first = wrote(client, name, place / "a.py", CODE)
    second = wrote(client, name, place / "a.py", "    return 44\n", "    return 42\n")
    (place / "a.py").write_text(f"{CODE.replace('42', '44')}# a person's\n")

    ran = reel("blame", "a.py")
    lines = [re.sub(r"\d{4}-\S+Z", "TIME", line).split() for line in ran.out.splitlines()]

    assert [name, f"#{first}", "TIME", "Write", "1", "def", "first_answer():"] == lines[0]
    assert [name, f"#{second}", "TIME", "Edit", "2", "return", "44"] == lines[1]
    assert ["-", "3", "#", "a", "person's"] == lines[2]
    assert (0, "") == (ran.status, ran.err)


def test_every_place_of_a_text(reel: Reel, client: Client, name: str, place: Path) -> None:
    """An edit that replaces a text wherever it is has written all these lines; one that says so of one place, none."""
    client.create(name)
    first = wrote(client, name, place / "a.py", "old = 1\nkept = 2\nprint(old)\n")
    second = wrote(client, name, place / "a.py", "new", "old", every=True)
    (place / "a.py").write_text("new = 1\nkept = 2\nprint(new)\n")

    lines = [line.split() for line in reel("blame", "a.py").out.splitlines()]

    assert [f"#{second}", f"#{first}", f"#{second}"] == [line[1] for line in lines]


@pytest.mark.parametrize(
    ("commands", "known"),
    [
        (["cat a.py"], False),
        (["cd src && sed -n 1,20p ./a.py"], False),
        (["make a.py"], False),  # it may have been there, and nothing else says what it was
        (["cat ba.py a.pyc"], True),
        ([], True),
    ],
)
def test_a_file_that_a_command_read(
    reel: Reel, client: Client, name: str, place: Path, commands: list[str], known: bool
) -> None:
    """What was read in a shell, and then written as a whole, may have been in the file: it has no known writer."""
    client.create(name)
    for command in commands:
        ran(client, name, command)
    wrote(client, name, place / "a.py", CODE)
    (place / "a.py").write_text(CODE)

    assert ([name] * 2 if known else [None] * 2) == [
        row.get("name") for row in reel("blame", "a.py", "--json").documents
    ]


@pytest.mark.parametrize(("command", "known"), [("node a.py", True), ("cat a.py", False)])
def test_a_file_that_a_command_read_again(
    reel: Reel, client: Client, name: str, place: Path, command: str, known: bool
) -> None:
    """A file that is known was perhaps changed by a person if it is read again, but not if it is only used."""
    client.create(name)
    first = wrote(client, name, place / "a.py", "kept_as_it_was = 1\n")
    ran(client, name, command)
    second = wrote(client, name, place / "a.py", "kept_as_it_was = 1\nperhaps_of_a_person = 2\n")
    (place / "a.py").write_text("kept_as_it_was = 1\nperhaps_of_a_person = 2\n")

    rows = reel("blame", "a.py", "--json").documents
    assert [first, second if known else None] == [row.get("seq") for row in rows]


def test_what_was_asked(reel: Reel, client: Client, name: str, place: Path) -> None:
    """What a program said in the place of a person was not asked, and neither was the summary of what was asked."""
    client.add(name, "Be brief", create=True)
    reminder: NewMessage = {"role": "user", "content": [{"type": "text", "text": "Remember the tests"}]}
    client.add(name, [{**reminder, "provider_metadata": {"role": "system"}}])
    wrote(client, name, place / "a.py", CODE)
    (place / "a.py").write_text(CODE)
    asked = reel("blame", "a.py:2", "--json").documents[0]["asked"]
    client.clear(name)
    client.add(name, [{**reminder, "provider_metadata": {COMPACTED: True}}])
    wrote(client, name, place / "b.py", CODE)
    (place / "b.py").write_text(CODE)

    assert "Be brief" == asked["text"]
    assert reel("blame", "b.py:2", "--json").documents[0]["asked"] is None


def test_a_question_without_words(reel: Reel, client: Client, name: str, place: Path) -> None:
    """A picture can be all that was asked."""
    client.create(name)
    picture: MediaBlock = {"type": "media", "mime_type": "image/png", "data_base64": "AAAA", "name": "page.png"}
    client.add(name, [{"role": "user", "content": [picture]}])
    wrote(client, name, place / "a.py", CODE)
    (place / "a.py").write_text(CODE)

    assert "user  media image/png page.png 3 bytes" in reel("blame", "a.py:2").out


def test_a_line(reel: Reel, client: Client, name: str, place: Path) -> None:
    """Of one line, it says what was asked before, and what became of the message."""
    client.add(name, "Be brief", create=True)
    seq = wrote(client, name, place / "a.py", CODE)
    (place / "a.py").write_text(CODE)
    before = reel("blame", "a.py:2", "--json").documents[0]
    client.clone(name, f"{name}-2")
    for _ in range(2):
        client.undo(name)
    after = reel("blame", "a.py:2", "--json").documents[0]

    assert (seq, "    return 42", "Be brief") == (before["seq"], before["text"], before["asked"]["text"])
    assert (True, None, []) == (before["live"], before["gone"], before["clones"])
    assert (False, "restore", [f"{name}-2"]) == (after["live"], after["gone"]["kind"], after["clones"])
    assert f"undone by #{after['gone']['seq']}; {name}-2 has it" in reel("blame", "a.py:2").out


def test_an_edit_in_the_middle_of_a_command(reel: Reel, client: Client, name: str, place: Path) -> None:
    """An import adds many messages at once; what was asked before an edit is what was asked before it there."""
    path = place / "a.py"
    block: NewToolCallBlock = {
        "type": "tool_call",
        "id": "c1",
        "name": "Write",
        "arguments": json.dumps({"file_path": str(path), "content": CODE}),
    }
    result: ToolResultBlock = {"type": "tool_result", "tool_call_id": "c1", "content": "done", "is_error": False}
    call: NewMessage = {"role": "assistant", "content": [block]}
    client.add(name, ["Be brief", call, {"role": "tool", "content": [result]}, "Now another thing"], create=True)
    path.write_text(CODE)
    (row,) = reel("blame", "a.py:1", "--json").documents

    assert ("Write", "Be brief") == (row["tool"], row["asked"]["text"])


def test_by_any_path(reel: Reel, client: Client, name: str, place: Path) -> None:
    """A file is found through a link, and by a path that begins elsewhere."""
    client.create(name)
    wrote(client, name, place / "a.py", CODE)
    (place / "a.py").write_text(CODE)
    (place / "below").mkdir()
    (place / "below" / "link.py").symlink_to("../a.py")

    assert 0 == reel("blame", "below/../a.py").status
    assert name == reel("blame", "below/link.py:1", "--json").documents[0]["name"]


@pytest.mark.parametrize(
    ("content", "word", "told"),
    [
        (None, "a.py", "a.py: No such file or directory"),
        (b"a\n", "a.py:2", "a.py has no line 2; it has 1 line"),
        (b"a\n", "a.py:0", "a.py has no line 0"),
        (b"a\0b", "a.py", "a.py is not a text: it has a NUL byte"),
        (b"a\n", ".", ". is a directory"),
    ],
)
def test_what_cannot_be_blamed(reel: Reel, place: Path, content: bytes | None, word: str, told: str) -> None:
    """What is no line of a text is refused."""
    if content is not None:
        (place / "a.py").write_bytes(content)
    ran = reel("blame", word)

    assert (2, "") == (ran.status, ran.out)
    assert told in ran.err


def test_nothing_is_known(reel: Reel, client: Client, name: str, place: Path) -> None:
    """Without an edit, or without a line of one, a sentence says so, and the status is 1."""
    (place / "a.py").write_text("what a person wrote\n")
    without = reel("blame", "a.py")
    client.create(name)
    wrote(client, name, f"/elsewhere/{place.name}/a.py", CODE)
    other = reel("blame", "a.py")
    wrote(client, name, place / "a.py", CODE)
    ran = reel("blame", "a.py:1")

    assert (1, 1, 1) == (without.status, other.status, ran.status)
    assert "no edit of a.py is known; reel import" in without.err
    assert f"no edit of a.py is known, but /elsewhere/{place.name}/a.py was written; reel import" in other.err
    assert "line 1 of a.py is not known to be from one of its 1 edit" in ran.err


def test_without_git(reel: Reel, client: Client, name: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If git cannot be run, it is done without, and said."""
    client.create(name)
    wrote(client, name, place / "a.py", CODE)
    (place / "a.py").write_text(CODE)
    monkeypatch.setenv("PATH", "")
    ran = reel("blame", "a.py")

    assert 0 == ran.status
    assert "git is not installed; without its answer, fewer lines can be told" in ran.err


def test_the_example(reel: Reel, place: Path) -> None:
    """The example of the page about the command works as it is printed there."""
    page = (_ROOT / "docs" / "cli.md").read_text().partition("## From a line to the words")[2]
    commands, expected = re.findall(r"^```(?:sh)?\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[:2]
    for line in commands.splitlines():
        if line.startswith("reel "):
            ran = reel(*shlex.split(line)[1:])
            assert 0 == ran.status
        else:
            subprocess.run(["sh", "-c", line], check=True, cwd=place)

    assert [re.sub(r"\d\S*:\S+", "TIME", line) for line in expected.splitlines()[1:]] == [
        re.sub(r"\d\S*:\S+", "TIME", line) for line in ran.out.splitlines()[1:]
    ]
