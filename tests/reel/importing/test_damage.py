"""Damage in the files of all tools: what is readable is read, the rest is reported, and nothing is written."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reel.base.ids import is_name
from reel.importing import tool_named
from reel.importing.steps import Said
from tests.thoroughness import FUZZ, SHARED, THOROUGH, sampled

from .samples import SAMPLES, Sample, read_all

# `make check` tries some places and bytes, `make fuzz` all places and many bytes.
EXAMPLES = FUZZ // 20 or 8
STEP = 1 if THOROUGH else 97

TEXTS = [f"text-{number}-said" for number in range(6)]
# Those in whose files a damaged byte makes a record unreadable.
_OF_RECORDS = [name for name, sample in SAMPLES.items() if sample.unit in ("line", "file") and name != "aider"]
ODD_IDS = ["../../x", "/etc/passwd", "a\0b", "\U0001f9a6", "x" * 10_000, " ", "..", "a\nb", "\ud800"]


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Sample:
    """The form of each tool."""
    return SAMPLES[request.param]


@pytest.fixture
def whole(sample: Sample, tmp_path: Path) -> bytes:
    """A conversation in a directory; the bytes of the file that is damaged."""
    sample.write(tmp_path, TEXTS, "ses")
    return (tmp_path / sample.file).read_bytes()


def contents(root: Path) -> dict[str, bytes]:
    """Return all files below a directory."""
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def refs_of(tool_name: str, root: Path) -> dict[str, str]:
    """Return the ids of all that was said, by the texts."""
    tool = tool_named(tool_name)
    steps = (step for source in tool.discover(root).sources for step in tool.open(source).steps())
    parts = (part for step in steps if isinstance(step, Said) for part in step.parts)
    return {block["text"]: part.ref for part in parts for block in part.blocks if "said" in block.get("text", "")}


def check_read(sample: Sample, root: Path, whole: bytes, data: bytes, reach: int) -> None:
    """Read a damaged file; check that what is not at the damage was read, and that problems say where it is.

    Args:
        sample: whose file it is.
        root: where it is.
        whole: its bytes before.
        data: its bytes now.
        reach: how many units the damage may touch.
    """
    path = root / sample.file
    path.write_bytes(data)

    result = read_all(sample.tool, root)

    assert path.read_bytes() == data
    lost = [text for text in TEXTS if text.encode() in data and text not in result.heard]
    if sample.unit != "database":
        assert len(lost) <= reach
    assert all(str(path) in problem for problem in result.problems)
    if sample.unit == "line":
        assert all(re.search(r":\d+: ", problem) for problem in result.problems)
    if sample.unit in ("line", "conversation") and len(lost) > (data[-1:] != whole[-1:]):
        assert result.problems


def test_undamaged(sample: Sample, whole: bytes, tmp_path: Path) -> None:
    """All that was said is read without a problem, and no file is written."""
    before = contents(tmp_path)

    result = read_all(sample.tool, tmp_path)

    assert (True, []) == (len(whole) > 0, result.problems)
    assert [] == [text for text in TEXTS if text not in result.heard]
    assert contents(tmp_path) == before


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("name", _OF_RECORDS)
def test_a_record_that_is_damaged_later(name: str, tmp_path: Path, *, has_ids: bool) -> None:
    """The messages after it keep their ids, so that an import knows them again: also those that are only numbered."""
    sample = SAMPLES[name]
    sample.write(tmp_path, TEXTS, "ses")
    path = tmp_path / sample.file
    if not has_ids:
        path.write_bytes(re.sub(rb', "(message_)?id": "ses\d*"|"id": "ses\d*", ', b"", path.read_bytes()))
    whole, before = path.read_bytes(), refs_of(sample.tool, tmp_path)
    for text in TEXTS if path.read_bytes().count(b"said") > 1 else ():
        path.write_bytes(whole.replace(text.encode(), b"\0" + text.encode()[1:]))
        after = refs_of(sample.tool, tmp_path)

        assert after.items() <= before.items() | {text[1:]: ref for text, ref in before.items()}.items()
        assert before.keys() - after.keys() <= {text}


@sampled
def test_cut(sample: Sample, whole: bytes, tmp_path: Path) -> None:
    """Of a file that was cut, all is read but the last unit."""
    lines = [found.end() for found in re.finditer(rb"\n", whole)] if sample.unit == "line" else []
    for end in sorted({*lines, *range(0, len(whole), STEP if len(whole) < 5000 else STEP * 10)}):
        check_read(sample, tmp_path, whole, whole[:end], 1)


@settings(max_examples=EXAMPLES, suppress_health_check=SHARED)
@given(data=st.data())
def test_flipped_byte(sample: Sample, whole: bytes, tmp_path: Path, data: st.DataObject) -> None:
    """A byte that was changed costs what it is in, and what it was separated from."""
    # Without its first line, a log cannot be read.
    place = data.draw(st.integers(whole.index(b"\n") if sample.tool == "reel" else 0, len(whole) - 1))
    byte = data.draw(st.sampled_from(b'"{}[],:\\0-n \n\0\xc3\xff#>') | st.integers(0, 255))

    check_read(sample, tmp_path, whole, whole[:place] + bytes([byte]) + whole[place + 1 :], 2)


def test_names_of_fields(sample: Sample, whole: bytes, tmp_path: Path) -> None:
    """What is said under an unknown name, as by a later version, is kept or reported: it is never passed over."""
    for found in re.finditer(rb'"(\w+)":', whole):
        # The first line of a log says what it is.
        if sample.tool != "reel" or found.start() > whole.index(b"\n"):
            changed = whole[: found.start(1)] + b"~" + whole[found.start(1) + 1 :]
            check_read(sample, tmp_path, whole, changed, 1 if sample.unit == "line" else len(TEXTS))


def test_a_seq_that_is_too_high(tmp_path: Path) -> None:
    """One wrong number in a log costs what has it at most: what comes after it is not out of order for that."""
    sample = SAMPLES["reel"]
    sample.write(tmp_path, TEXTS, "ses")
    log = tmp_path / sample.file
    log.write_bytes(log.read_bytes().replace(b'{"seq": 1,', b'{"seq": 91,'))

    assert [] == [text for text in TEXTS if text not in read_all("reel", tmp_path).heard]


def test_ids_that_are_paths(sample: Sample, tmp_path: Path) -> None:
    """Whatever an id is, it makes the name of an agent, and leads to no other file."""
    for number, ident in enumerate(ODD_IDS):
        root = tmp_path / str(number)
        root.mkdir()
        # SQLite takes no lone surrogate.
        sample.write(root, TEXTS, ident if sample.unit != "database" else ident.encode("utf-8", "replace").decode())
        before = contents(tmp_path)

        result = read_all(sample.tool, root)

        assert [] == [text for text in TEXTS if text not in result.heard]
        assert all(is_name(name) for name in result.names) or "reel" == sample.tool
        assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "change", "where"),
    [
        ("llm", "UPDATE parts SET payload = '{\"a', type = 'tool_call' WHERE id = 2", "parts, row 2: "),
        ("openai-agents", "UPDATE agent_messages SET message_data = '{\"a' WHERE id = 2", "agent_messages, row 2: "),
        ("opencode-1", "UPDATE part SET data = '{\"a' WHERE message_id = 'msg_1'", "session ses, record prt_10"),
        ("opencode-1", "UPDATE message SET data = '[]' WHERE id = 'msg_1'", "session ses, record msg_1: "),
        ("opencode-2", "UPDATE session_message SET data = x'ff' WHERE seq = 1", "session ses, record ses-1: "),
    ],
)
def test_damaged_rows(name: str, change: str, where: str, tmp_path: Path) -> None:
    """A row that cannot be read is reported with its table or session, and the others are read."""
    sample = SAMPLES[name]
    sample.write(tmp_path, TEXTS, "ses")
    with closing(sqlite3.connect(tmp_path / sample.file)) as database, database:
        assert 1 == database.execute(change).rowcount

    result = read_all(sample.tool, tmp_path)

    assert {text for text in TEXTS if text not in result.heard} <= {TEXTS[1]}
    assert [where] == [problem.removeprefix(f"{tmp_path / sample.file}: ")[: len(where)] for problem in result.problems]


def test_links_to_the_outside(sample: Sample, whole: bytes, tmp_path: Path) -> None:
    """A link is reported, and nothing behind it is read."""
    root = tmp_path / "linked"
    root.mkdir()
    top = Path(sample.file).parts[0]
    (root / top).symlink_to(tmp_path / top)

    result = read_all(sample.tool, root)

    assert ("", True) == (result.heard, whole != b"")
    assert [problem for problem in result.problems if "is a link" in problem]


@pytest.mark.slow
def test_a_line_of_fifty_megabytes(tmp_path: Path) -> None:
    """A line that no message can be made of is reported with its number, and the lines around it are read."""
    for name in ("jsonl", "aider", "reel"):  # the others have the reader of the first
        sample, root = SAMPLES[name], tmp_path / name
        root.mkdir()
        sample.write(root, TEXTS, "ses")
        lines = (root / sample.file).read_bytes().splitlines(keepends=True)
        with (root / sample.file).open("wb") as file:
            file.writelines([*lines[:3], b'{"x": "'])
            file.writelines([b"y" * (1 << 20)] * 50)
            file.writelines([b'"}\n', *lines[3:]])

        result = read_all(sample.tool, root)

        (root / sample.file).unlink()
        assert [] == [text for text in TEXTS if text not in result.heard]
        assert {f"{root / sample.file}:4"} == {problem.partition(": ")[0] for problem in result.problems}
