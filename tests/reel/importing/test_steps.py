"""The types that all readers share."""

from reel.importing.steps import Counts, Problem, Source, forks_last


def source(name: str, fork_of: str = "") -> Source:
    """Return a source of a conversation."""
    return Source(f"/{name}", name, 1, 1, fork_of)


def test_forks_come_after_their_origins() -> None:
    """Each source is there once, and otherwise the order stays."""
    sources = [source("c", "b"), source("a"), source("b", "a"), source("d", "gone")]

    assert ["a", "b", "c", "d"] == [each.conversation for each in forks_last(sources)]


def test_problems() -> None:
    """A place has a line only if it is known."""
    assert ["/a:3: odd", "/a: odd"] == [str(Problem("/a", line, "odd")) for line in (3, 0)]


def test_counts() -> None:
    """What was read is what was used, ignored and unknown; the counts of several sources are added up."""
    one, other = Counts(), Counts()
    for counts in (one, other, other):
        counts.map()
        counts.ignore("rule")
        counts.note("kind")
    one.refused["part"] += 1
    one.add(other)

    assert (9, 3, {"rule": 3}, {"kind": 3}, {"part": 1}) == (
        one.read,
        one.mapped,
        one.ignored,
        one.unknown,
        one.refused,
    )


def test_many_problems() -> None:
    """The first twenty are kept, and the others counted, also over several sources."""
    one, other = Counts(), Counts()
    for number in range(15):
        one.problem(Problem("/a", number, "odd"))
        other.problem(Problem("/b", number, "odd"))
    one.add(other)

    assert (20, 10) == (len(one.problems), one.more_problems)
