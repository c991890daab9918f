"""Reading the histories of aider."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.importing.sources.files import lines_of
from reel.importing.steps import About, Kept, Said, Step
from reel.importing.tools.aider import TOOL
from tests.reel.importing.transcripts import check_step

_HISTORY = """
# aider chat started at 2026-06-09 14:01:00

> Aider v0.86
#### add a retry
#### to the webhook
I'll add it.

# A heading
> Applied edit to hook.py

# aider chat started at 2026-06-09 15:30:00

#### again
Done.
"""


def read(directory: Path, text: str = _HISTORY) -> list[Step]:
    """Return the steps of a history."""
    (directory / ".aider.chat.history.md").write_text(text)
    (source,) = TOOL.discover(directory).sources
    return list(TOOL.open(source).steps())


def test_runs(tmp_path: Path) -> None:
    """Each run is a conversation; what aider showed is a note, and headings are a part of an answer."""
    steps = read(tmp_path)

    said = [(step.role, step.parts[0].blocks[0]["text"]) for step in steps if isinstance(step, Said)]
    assert [
        ("user", "add a retry\nto the webhook"),
        ("assistant", "I'll add it.\n\n# A heading"),
        ("user", "again"),
        ("assistant", "Done."),
    ] == said
    assert ["Aider v0.86", "Applied edit to hook.py"] == [step.content for step in steps if isinstance(step, Kept)]
    parts = {step.part: step.title for step in steps if isinstance(step, About)}
    assert {"/2026-06-09-14-01-00": "add a retry to the webhook", "/2026-06-09-15-30-00": "again"} == parts


def test_two_runs_in_one_second(tmp_path: Path) -> None:
    """Two runs that began in the same second are two conversations."""
    start = "# aider chat started at 2026-06-09 14:01:00\n#### Hi\n"

    parts = {step.part for step in read(tmp_path, start * 2) if isinstance(step, About)}

    assert {"/2026-06-09-14-01-00", "/2026-06-09-14-01-00-2"} == parts


def test_place(tmp_path: Path) -> None:
    """The history is that of the repository of the current directory; a link is not followed."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()

    assert [tmp_path / ".aider.chat.history.md"] == [*TOOL.places({"PWD": str(tmp_path / "src")})]
    assert [] == TOOL.discover(tmp_path).sources
    (tmp_path / ".aider.chat.history.md").symlink_to("/etc/passwd")
    assert "link" in TOOL.discover(tmp_path).problems[0].what


def test_below_a_directory(tmp_path: Path) -> None:
    """The histories of all repositories below a directory are found; some directories are not looked into."""
    for place in ("one", "two/three", ".", "one/node_modules/x", "two/.git"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / ".aider.chat.history.md").write_text(_HISTORY)
    (tmp_path / "link").symlink_to(tmp_path / "two")

    found = TOOL.discover(tmp_path)

    expected = [str(tmp_path / place / ".aider.chat.history.md") for place in (".", "one", "two/three")]
    assert (expected, []) == ([source.path for source in found.sources], found.problems)
    assert 3 == len({source.conversation for source in found.sources})


_ANSWER = """\
The plan:

#### Step 1

> Note: this is slow.

```markdown
#### Usage
> run it
#
```

Done."""


def test_an_answer_in_the_form_of_a_prompt(tmp_path: Path) -> None:
    """A heading or a quotation in an answer belongs to it: only aider's own lines end with two spaces."""
    text = f"""
# aider chat started at 2026-06-09 14:01:00

> /usr/bin/aider{"  "}
> Aider v0.90.0{"  "}

#### fix the deck{"  "}
####{"  "}
#### and the reel{"  "}

{_ANSWER}

> Applied edit to a.py{"  "}

#### now the tests{"  "}

They pass.
"""
    steps = read(tmp_path, text)

    said = [(step.role, step.parts[0].blocks[0]["text"]) for step in steps if isinstance(step, Said)]
    assert [
        ("user", "fix the deck\n\nand the reel"),
        ("assistant", _ANSWER),
        ("user", "now the tests"),
        ("assistant", "They pass."),
    ] == said
    shown = [step.content for step in steps if isinstance(step, Kept)]
    assert ["/usr/bin/aider\nAider v0.90.0", "Applied edit to a.py"] == shown


def test_runs_with_and_without_the_spaces(tmp_path: Path) -> None:
    """Spaces that an editor removed from one run say nothing of another one."""
    start = "# aider chat started at 2026-06-09 14:01:00\n"
    answer = "Yes.\n#### Why\nSo.\n"

    steps = read(tmp_path, f"{start}#### Hi\nYes.\n#### Bye\n{start}#### Hi  \n{answer}{start}#### Hi\nYes.\n")

    roles = [step.role for step in steps if isinstance(step, Said)]
    assert ["user", "assistant", "user", *["user", "assistant"], *["user", "assistant"]] == roles


@pytest.mark.parametrize(
    ("prompts", "title"),
    [(["one", "two"], "one"), (["/add a.py", "/run x", "two", "three"], "two"), (["/add a.py", "/run x"], "/add a.py")],
)
def test_title(tmp_path: Path, prompts: list[str], title: str) -> None:
    """The title of a run is its first prompt that is no command, else its first command."""
    text = "".join(f"#### {prompt}  \n\nDone.\n\n" for prompt in prompts)

    steps = read(tmp_path, f"# aider chat started at 2026-06-09 14:01:00\n\n{text}")

    assert title == [step.title for step in steps if isinstance(step, About) and step.title][-1]


@pytest.mark.parametrize(
    ("zone", "hours"), [("UTC0", 0), ("EST5EDT,M3.2.0,M11.1.0", 4), ("IST-5:30", -5.5), ("NPT-5:45", -5.75)]
)
def test_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, hours: float) -> None:
    """The start of a run is a local time, in summer time if that was in force."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        steps = read(tmp_path)
    finally:
        monkeypatch.undo()
        time.tzset()

    utc = 1781013660000  # 2026-06-09T14:01:00Z
    assert utc + hours * 3_600_000 == next(step.sent for step in steps if isinstance(step, Said))


def test_an_impossible_time(tmp_path: Path) -> None:
    """A start that is no time is the name of a run, and no more."""
    steps = read(tmp_path, "# aider chat started at 0001-01-01 00:00:00\n#### Hi\n")
    steps += read(tmp_path, "# aider chat started at 2026-99-01 00:00:00\n#### Hi\n")

    assert ["/2026-99-01-00-00-00"] == [step.part for step in steps if isinstance(step, About)][2:3]
    assert None is [step.sent for step in steps if isinstance(step, Said)][-1]


@given(
    cut=st.integers(0, len(_HISTORY)), flips=st.lists(st.tuples(st.integers(0, 999), st.integers(1, 255)), max_size=9)
)
def test_damaged_history(tmp_path_factory: pytest.TempPathFactory, cut: int, flips: list[tuple[int, int]]) -> None:
    """Of a history that is cut and has wrong bytes, every complete line is accounted for."""
    # Not in the base itself: it is above the directories of all other tests, which aider's reader looks into.
    path = tmp_path_factory.getbasetemp() / "damaged" / ".aider.chat.history.md"
    path.parent.mkdir(exist_ok=True)
    data = bytearray(_HISTORY.encode()[:cut])
    for place, bits in flips:
        if data:
            data[place % len(data)] ^= bits
    path.write_bytes(data)
    opened, known = TOOL.open(TOOL.discover(path).sources[0]), {""}
    for step in opened.steps():
        known |= check_step(step, known)

    counts = opened.counts
    with path.open("rb") as file:
        lines = sum(line.complete for line in lines_of(file))
    assert counts.read == lines == counts.mapped + counts.ignored.total()
