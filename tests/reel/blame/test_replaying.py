"""Who wrote the lines of a file, by what is known to have happened to it."""

import pytest

from reel.blame.steps import Edit, Look
from reel.blame.versions import History, Origin, Version, blame

CODE = "def first_answer():\n    return 42\n\n\ndef second_answer():\n    return 43\n"
WRITE = Edit("w", 1, CODE, whole=True)


def named(text: str, *steps: Edit[str] | Look, history: History | None = None) -> str:
    """Return the writers of the lines of a file, one letter each, and ``-`` for those that are not known."""
    return "".join(name or "-" for name in blame(text, steps, history))


def test_a_file_as_it_was_written() -> None:
    """A file that is as a tool wrote it has one writer, blank lines included."""
    assert "wwwwww" == named(CODE, WRITE)


def test_an_edit() -> None:
    """A line that an edit changed is the edit's; what it only repeats is not."""
    edit = Edit("e", 2, "def first_answer():\n    return 44\n", "def first_answer():\n    return 42\n")

    assert "wewwww" == named(CODE.replace("42", "44"), WRITE, edit)


def test_a_part_of_a_line() -> None:
    """An edit of a part of a line wrote the line."""
    assert "wewwww" == named(CODE.replace("42", "44"), WRITE, Edit("e", 2, "44", "42"))


def test_everywhere() -> None:
    """An edit that replaced a text wherever it was wrote all these lines."""
    text = CODE.replace("answer", "number")

    assert "ewwwew" == named(text, WRITE, Edit("e", 2, "number", "answer", every=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CODE.replace("42", "41"), "w---ww"),
        (CODE.replace("def second", "# what a person thinks of it\ndef second"), "ww---ww"),
        (CODE.replace("    return 43\n", ""), "wwwww"),
        (f"# before all\n{CODE}", "-wwwwww"),
    ],
    ids=["changed", "added", "removed", "at the beginning"],
)
def test_a_person_afterwards(text: str, expected: str) -> None:
    """What a person changed after the edits is not known, nor are blank lines beside it; the rest is."""
    assert expected == named(text, WRITE)


def test_what_a_person_brought_back() -> None:
    """A line that an edit took away is not its first writer's when it is there again."""
    assert "w---ww" == named(CODE, WRITE, Edit("e", 2, "    return 44\n", "    return 42\n"))


def test_moved_and_indented() -> None:
    """A line that was moved or indented is still its writer's, if there is no other like it."""
    edit = Edit("a", 1, "the first long line\n}\nthe second long line\n", whole=True)

    assert "aa" == named("the second long line\n    the first long line\n", edit)


def test_a_trivial_line_by_itself() -> None:
    """A line that says nothing, and whose neighbours are others, is nobody's."""
    edit = Edit("a", 1, "something quite different\n}\nand more\n", whole=True)

    assert "---" == named("if one_thing:\n}\nelse_another()\n", edit)


def test_a_line_that_may_have_stood_elsewhere() -> None:
    """An edit at one of two equal places wrote its line; which of the two it left is not known."""
    edit = Edit("e", 2, "    nothing = 0\n", "    pass\n")
    text = "def one():\n    pass\n\ndef two():\n    pass\n"

    assert "-e---" == named(text.replace("pass", "nothing = 0", 1), Edit("w", 1, text, whole=True), edit)


def test_equal_lines_that_change_places() -> None:
    """Of a line that an edit wrote again beside an equal one, nobody can tell which is the new one."""
    edit = Edit("e", 2, "    one(first)\n}\n\nanother {\n}\n", "    one(first)\n}\n")
    text = "begin {\n    one(first)\n}\n"

    assert "ww-ee-" == named(text.replace("}", "}\n\nanother {\n}"), Edit("w", 1, text, whole=True), edit)


def test_a_short_line_that_was_moved() -> None:
    """A short line at another place may be somebody else's."""
    edit = Edit("a", 1, "the first long line\nab = cde\nthe second long line\n", whole=True)

    assert "aa-" == named("the first long line\nthe second long line\nab = cde\n", edit)


def test_a_trivial_line_beside_one_neighbour() -> None:
    """A line that says nothing is known only if both of its neighbours are."""
    edit = Edit("a", 1, "begin_something()\n    }\nwhat_follows()\n", whole=True)

    assert "a--" == named("begin_something()\n    }\nanother_thing()\n", edit)


def test_what_an_edit_took_away_elsewhere() -> None:
    """A line that an edit at an unknown place took away is no longer known, even if it is there again."""
    first = Edit("a", 1, "the first long line\n", "nobody knows where\n")
    second = Edit("b", 2, "the second long line\n", "what a person said\nthe first long line\n")

    assert "-b" == named("the first long line\nthe second long line\n", first, second)


def test_a_whole_file_after_an_edit_that_fits_nowhere() -> None:
    """A person has changed the file: what a tool then wrote as a whole may have been in it."""
    elsewhere = Edit("e", 2, "the second long line\n", "what a person said\n")
    text = f"{CODE}what nobody knows\n"

    assert "wwwwww-" == named(text, WRITE, elsewhere, Edit("x", 3, text, whole=True))


def test_two_that_could_be_it() -> None:
    """A line that two edits at unknown places wrote is not known."""
    steps = [Edit(name, at, "the same long line\n", f"another {name}\n") for at, name in enumerate("ab")]

    assert "-" == named("the same long line\n", *steps)
    assert "a" == named("the same long line\n", steps[0])


def test_a_file_that_was_there_before() -> None:
    """What a tool wrote over a file that it had read may have been in it; what is known to be new is its own."""
    assert "------" == named(CODE, Look(0), WRITE)
    assert "w-wwww" == named(CODE, Look(0, "    return 42\n"), WRITE)


def test_what_was_perhaps_done() -> None:
    """An edit without a result wrote nothing for certain, and its line is no longer the first writer's."""
    edit = Edit("e", 2, "    return 44\n", "    return 42\n", done=False)

    assert "w---w-" == named(CODE, WRITE, edit)
    assert "w---w-" == named(CODE.replace("42", "44"), WRITE, edit)


def test_a_file_that_was_removed() -> None:
    """A file that was removed and written again is the last writer's alone."""
    assert "xxxxxx" == named(CODE, WRITE, Edit("r", 2, "", whole=True), Edit("x", 3, CODE, whole=True))


def test_the_ends_of_lines() -> None:
    """An editor that ends the lines otherwise, or the last one not at all, has written none of them."""
    assert "wwwwww" == named(CODE.replace("\n", "\r\n"), WRITE)
    assert "wwwwww" == named(CODE.rstrip("\n"), WRITE)


def history(*texts: str, origins: str) -> History:
    """Return a history with a commit at second 10, 20, …; origins are the numbers of the commits, line by line."""
    versions: dict[str, Version] = {}
    newest: Version | None = None
    for at, text in enumerate(texts):
        newest = versions[str(at)] = Version(10 * (at + 1), text, newest)
    assert newest is not None
    return History(newest, [Origin(name, at) for at, name in enumerate(origins)], versions)


def test_a_line_that_is_older_than_the_conversation() -> None:
    """A line that was committed before an edit that repeats it is not the edit's."""
    late = Edit("w", 15_000, CODE, whole=True)

    assert "------" == named(CODE, late, history=history(CODE, origins="000000"))
    assert "wwwwww" == named(CODE, WRITE, history=history(CODE, origins="000000"))


def test_a_commit_of_a_person() -> None:
    """What a person committed after an edit is not the edit's, even if the text is the same."""
    without = CODE.replace("    return 42\n", "")

    assert "w-wwww" == named(CODE, WRITE, history=history(CODE, without, CODE, origins="020000"))


def test_an_edit_between_two_commits() -> None:
    """An edit wrote what came with the next commit, or is not committed yet, although a person wrote the file."""
    edit = Edit("e", 15_000, "    return 44\n", "    return 42\n")
    text = CODE.replace("42", "44")

    assert "-e----" == named(text, edit, history=history(CODE, text, origins="010000"))
    assert "-e----" == named(text, edit, history=history(CODE, origins="000000"))


def test_a_merge() -> None:
    """What came with a merge has several texts before it, and is not known."""
    merge = Version(10, CODE, is_plain=False)
    merged = History(merge, [Origin("m", at) for at in range(6)], {"m": merge})

    assert "------" == named(CODE, WRITE, history=merged)
