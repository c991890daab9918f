"""Whatever is named as the writer of a line really wrote it, whoever else changed the file."""

from hypothesis import given, settings
from hypothesis import strategies as st

from reel.blame.steps import Look
from reel.blame.telling import weight
from reel.blame.versions import blame
from tests.reel.blame.a_file import File, changed

SEEDS = st.integers(0, 2**32)
# A file takes a millisecond or two. Most of what can go wrong takes three things that seldom meet.
many = settings(max_examples=max(settings().max_examples, 300))


def wrong(file: File, found: list[str | None]) -> list[tuple[str, str, str]]:
    """Return the lines with a writer that is not theirs.

    Of equal lines that say nothing, such as ``}``, nobody can tell which one is left of two: they may change places.
    """
    said = {
        (line, step.source)
        for step in file.steps
        if not isinstance(step, Look)
        for line in step.after.split("\n")
        if not weight(line)
    }
    return [
        (line.text, line.writer, name)
        for line, name in zip(file.lines, found, strict=True)
        if name not in (None, line.writer) and (line.text, name) not in said
    ]


@many
@given(SEEDS, st.integers(1, 22), st.booleans())
def test_never_a_wrong_one(seed: int, steps: int, with_git: bool) -> None:
    """People change, move and indent lines between the edits of three conversations, with git and without."""
    file = changed(seed, people=True, steps=steps)

    assert [] == wrong(file, blame(file.text, file.steps, file.history if with_git else None))


@many
@given(SEEDS, st.integers(1, 22), st.booleans())
def test_a_file_of_known_edits(seed: int, steps: int, with_git: bool) -> None:
    """Every line that says something is known, if nobody else changed the file."""
    file = changed(seed, people=False, steps=steps)
    found = blame(file.text, file.steps, file.history if with_git else None)

    assert [] == wrong(file, found)
    assert [] == [line.text for line, name in zip(file.lines, found, strict=True) if weight(line.text) and name is None]
