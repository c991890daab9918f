"""Reading exports of ChatGPT."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.importing.sources.exports import open_export
from reel.importing.steps import About, Counts, Said, Source
from reel.importing.tools.chatgpt.tool import TOOL, steps_of
from tests.reel.importing.exported import CONVERSATION, Tree, read, reading_of, write
from tests.reel.importing.transcripts import check_step, outline


def test_a_branch_that_was_left(tmp_path: Path) -> None:
    """The current branch comes last; another one is left with a step back."""
    made = Tree().said("u1", "user", "Hi").said("a1", "assistant", "Hello").said("u2", "user", "Wrong")
    made.said("a2", "assistant", "Why").said("u3", "user", "Right", after="a1").said("a3", "assistant", "Fine")

    steps = outline(read(TOOL, tmp_path, made.exported()))

    assert ["user:u1", "assistant:a1", "user:u2", "assistant:a2", "back:a1", "user:u3", "assistant:a3"] == steps[1:]


def test_the_current_branch_is_not_the_newest(tmp_path: Path) -> None:
    """Which branch is current, the export says."""
    made = Tree().said("u1", "user", "Hi").said("a1", "assistant", "One").said("a2", "assistant", "Two", after="u1")

    steps = outline(read(TOOL, tmp_path, made.exported(current_node="a1")))

    assert ["user:u1", "assistant:a2", "back:u1", "assistant:a1"] == steps[1:]


def test_title_time_and_tags(tmp_path: Path) -> None:
    """A conversation has its title, its model and its times."""
    made = Tree().said("u1", "user", "Hi").said("a1", "assistant", "Hello", metadata={"model_slug": "gpt-x"})

    about, user, answer = read(TOOL, tmp_path, made.exported(gizmo_id="g-1"))

    assert isinstance(about, About)
    assert (f"/{CONVERSATION}", "A title") == (about.part, about.title)
    assert {"tool": "chatgpt", "source": "", "model": "gpt-x", "gpt": "g-1"} == {**about.tags, "source": ""}
    assert isinstance(user, Said)
    assert 1700000001000 == user.sent
    assert isinstance(answer, Said)
    assert {"provider": "chatgpt", "model": "gpt-x"} == answer.metadata


def test_a_tool_call(tmp_path: Path) -> None:
    """Thoughts, call and text in a row are one message; what a tool answered in several messages is one result."""
    code = {"content_type": "code", "language": "python", "text": "1+1"}
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Add", "content": "It is two."}]}
    made = (
        Tree()
        .said("u", "user", "Sum")
        .said("t", "assistant", thoughts)
        .said("c", "assistant", code, recipient="python")
    )
    made.said("r1", "tool", {"content_type": "execution_output", "text": "2"}, name="python")
    made.said("r2", "tool", "done", name="python").said("a", "assistant", "Two")

    steps = read(TOOL, tmp_path, made.exported())

    assert ["user:u", "assistant:t+c", "tool:r1", "assistant:a"] == outline(steps)[1:]
    said = [step for step in steps if isinstance(step, Said)]
    assert [
        [{"type": "thinking", "text": "Add\nIt is two.", "provider": "chatgpt"}],
        [
            {
                "type": "tool_call",
                "id": "c",
                "name": "python",
                "arguments": '{"input":"1+1"}',
                "provider_metadata": {"provider": "chatgpt", "language": "python"},
            }
        ],
    ] == [part.blocks for part in said[1].parts]
    content = [{"type": "text", "text": "2"}, {"type": "text", "text": "done"}]
    (given,) = said[2].parts
    assert [{"type": "tool_result", "tool_call_id": "c", "content": content, "is_error": False}] == given.blocks


def test_a_tool_that_nobody_called(tmp_path: Path) -> None:
    """What a tool says without a call is a user's message that says so; a failure without a call as well."""
    made = Tree().said("u", "user", "Hi").said("f", "tool", "A file", name="file_search")

    said = [step for step in read(TOOL, tmp_path, made.exported()) if isinstance(step, Said)]

    assert ("user", {"provider": "chatgpt", "role": "tool", "name": "file_search"}) == (said[1].role, said[1].metadata)


def test_failures(tmp_path: Path) -> None:
    """A result says whether the tool failed; arguments that are JSON stay so."""
    failed = {"content_type": "system_error", "name": "Timeout", "text": "late"}
    made = Tree().said("c", "assistant", '{"q": 1}', recipient="web.run").said("r", "tool", failed, name="web")

    call, result = [step.parts[0].blocks[0] for step in read(TOOL, tmp_path, made.exported()) if isinstance(step, Said)]

    assert ('{"q": 1}', "Timeout\nlate", True) == (call["arguments"], result["content"], result["is_error"])


def test_images(tmp_path: Path) -> None:
    """An image is a text with its name; all that the export says of it is kept."""
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "width": 5}
    files = {"attachments": [{"id": "file-1", "name": "cat.png"}]}
    content = {
        "content_type": "multimodal_text",
        "parts": [image, "", {"content_type": "audio_transcription", "text": "Hi"}],
    }

    (said,) = [
        step
        for step in read(TOOL, tmp_path, Tree().said("u", "user", content, metadata=files).exported())
        if isinstance(step, Said)
    ]

    assert ["[image: cat.png]", "Hi"] == [block["text"] for block in said.parts[0].blocks]
    assert {"part": image} == json.loads(said.parts[0].blocks[0]["provider_metadata"]["part_json"])


def test_instructions_and_what_is_left_out(tmp_path: Path) -> None:
    """The instructions of the user are the prompt; what says nothing is ignored, what is unknown is a note."""
    context = {
        "content_type": "user_editable_context",
        "user_profile": "I am a cook.",
        "user_instructions": "Be brief.",
    }
    made = Tree().said("s", "system").said("i", "user", context).said("u", "user", "Hi")
    made.said("r", "assistant", {"content_type": "reasoning_recap", "content": "Thought"}).said(
        "x", "user", {"content_type": "hologram"}
    )
    reading = reading_of(TOOL, write(tmp_path / "conversations.json", made.said("l", "system", "Late").exported()))

    steps = list(reading.steps())

    assert ["note:x", "system:i", "user:l", "user:u"] == sorted(outline(steps)[1:])
    assert {"empty": 2, "how long it thought": 1} == reading.counts.ignored
    assert {"user/hologram": 1} == reading.counts.unknown


def test_archives(tmp_path: Path) -> None:
    """All files of an archive with conversations are read, and those of another service are not taken for it."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(3):
            archive.writestr(
                f"conversations-00{number}.json", json.dumps([Tree(f"c{number}").said("u", "user", "Hi").exported()])
            )
    write(tmp_path / "other.zip", {"uuid": "x", "chat_messages": []})
    (tmp_path / "user.json").write_text("{}")

    parts = [step.part for step in reading_of(TOOL, tmp_path).steps() if isinstance(step, About)]

    assert ["/c0", "/c1", "/c2"] == parts


def test_an_archive_that_is_none(tmp_path: Path) -> None:
    """What is named and is no archive is an error that names it."""
    (tmp_path / "x.zip").write_text("nothing")

    with pytest.raises(OSError, match="the archive cannot be read"):
        list(reading_of(TOOL, tmp_path / "x.zip").steps())


def test_no_conversation(tmp_path: Path) -> None:
    """A file that is named and has no conversation is a problem."""
    reading = reading_of(TOOL, write(tmp_path / "conversations.json"))

    assert [] == list(reading.steps())
    assert "no conversation in it" in str(reading.counts.problems[0])


def test_an_export_that_was_cut_between_two_conversations(tmp_path: Path) -> None:
    """A list that does not end is reported: nothing else tells that conversations are missing."""
    path = write(tmp_path / "conversations.json", *(Tree(name).said("u", "user", "Hi").exported() for name in "pq"))
    text = path.read_bytes()
    path.write_bytes(text[: text.index(b"}, {") + 1])
    reading = reading_of(TOOL, path)

    assert list(reading.steps())
    assert ["the list does not end: the file was cut, and conversations may be missing"] == [
        problem.what for problem in reading.counts.problems
    ]


@pytest.mark.slow
@given(st.data())
def test_damaged_exports(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """If an export is cut, or a byte of it is another one, at most the conversation at this place is lost."""
    made = [Tree(name).said("u", "user", f"[{name}").said("a", "assistant", 'So "it" is').exported() for name in "pqrs"]
    path = write(tmp_path_factory.getbasetemp() / "conversations.json", *made)
    text = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(text) - 1))
    if is_cut := data.draw(st.booleans()):
        del text[place:]
    else:
        text[place] = data.draw(st.integers(0, 255))
    path.write_bytes(text)
    reading = reading_of(TOOL, path)

    parts = [step.part[1:] for step in reading.steps() if isinstance(step, About)]

    whole = [name for name in "pqrs" if f'"conversation_id": "{name}"}}'.encode() in text]
    assert set(whole) - set(parts) <= (set() if is_cut else {_at(text, place)})
    assert reading.counts.problems or len(parts) == len(made) or not is_cut
    counts = reading.counts
    assert counts.read == counts.mapped + counts.ignored.total() + counts.unknown.total()


def _at(text: bytearray, place: int) -> str:
    """Return the conversation that a place is in."""
    found = text.find(b'"conversation_id": "', max(place - len('"conversation_id": "'), 0))
    return chr(text[found + len('"conversation_id": "')])


_JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-9, 9) | st.sampled_from(["", "x", "text", "code", "a", "b"]),
    lambda inside: (
        st.lists(inside, max_size=2)
        | st.dictionaries(
            st.sampled_from(["parts", "text", "asset_pointer", "content_type", "thoughts"]), inside, max_size=3
        )
    ),
    max_leaves=6,
)
_NODES = st.fixed_dictionaries(
    {"parent": st.sampled_from(["a", "b", "c", "d", "", None])},
    optional={
        "children": _JUNK,
        "message": st.fixed_dictionaries(
            {
                "id": st.sampled_from(["a", "b"]),
                "author": st.fixed_dictionaries(
                    {"role": st.sampled_from(["user", "assistant", "tool", "system", "x"])}
                ),
                "content": st.fixed_dictionaries(
                    {"content_type": st.sampled_from(["text", "code", "thoughts", "user_editable_context", "x"])},
                    optional={"parts": _JUNK, "text": _JUNK, "thoughts": _JUNK},
                ),
                "recipient": st.sampled_from(["all", "x", ""]),
            },
            optional={"metadata": _JUNK},
        ),
    },
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from("abcd"), _NODES | _JUNK), st.sampled_from("abx"))
def test_any_tree(tmp_path_factory: pytest.TempPathFactory, nodes: dict[str, Any], current: str) -> None:
    """Whatever the nodes are, each is counted, and every step back is to a message that was said."""
    counts = Counts()
    known = {""}
    path = tmp_path_factory.getbasetemp() / "none.json"
    path.touch()

    with open_export(str(path)) as files:
        for step in steps_of({"mapping": nodes, "current_node": current}, Source("/x", "chatgpt", 0, 0), counts, files):
            known |= check_step(step, known)

    assert counts.read == len(nodes) == counts.mapped + counts.ignored.total() + counts.unknown.total()
