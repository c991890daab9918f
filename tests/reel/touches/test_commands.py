"""What commands write, as far as their text says it for certain."""

import pytest

from reel.touches.reading import touches
from reel.touches.touch import Touch
from tests.reel.touches.blocks import call, result

PATCH = "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch"
ADDED = Touch("wrote", "a.py", after="x\n", whole=True)


def written(command: object, **more: str) -> list[Touch]:
    """Return what a command writes in a shell of Codex."""
    return [touch for touch in touches(call("shell", {"command": command, **more}), result()) if touch.deed == "wrote"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (f"apply_patch <<'EOF'\n{PATCH}\nEOF", [ADDED]),
        (f"apply_patch <<EOF\n{PATCH}\nEOF\n", [ADDED]),
        (f"cd src && apply_patch <<'EOF'\n{PATCH}\nEOF", [Touch("wrote", "src/a.py", after="x\n", whole=True)]),
        (f"cd 'my src' && apply_patch <<'EOF'\n{PATCH}\nEOF", [Touch("wrote", "my src/a.py", after="x\n", whole=True)]),
        (f'apply_patch "{PATCH}"', [ADDED]),
        ("cat > a.py <<'EOF'\nx\nEOF", [ADDED]),
        ("cat <<'EOF' > a.py\nx\nEOF", [ADDED]),
        ("mkdir -p p && cat >'a b.py' <<\"EOF\"\nx\nEOF\nls", [Touch("wrote", "a b.py", after="x\n", whole=True)]),
        ("cat >> a.py <<'EOF'\nx\nEOF", [Touch("wrote", "a.py", after="x\n")]),
        ("tee a.py <<'EOF'\nx\nEOF", [ADDED]),
        ("sudo tee -a a.py <<'EOF'\nx\nEOF", [Touch("wrote", "a.py", after="x\n")]),
        ("cat > a.py <<-'EOF'\n\tx\n\tEOF", [ADDED]),
        ("cat > a.py <<'A'\nx\nA\ncat > b.py <<'B'\ny\nB", [ADDED, Touch("wrote", "b.py", after="y\n", whole=True)]),
        ("cd p\ncd q\ncat > a.py <<'EOF'\nx\nEOF", [Touch("wrote", "p/q/a.py", after="x\n", whole=True)]),
        (
            "cd p && cat > a.py <<'A'\nx\nA\ncat > a.py <<'B'\nx\nB",
            [Touch("wrote", "p/a.py", after="x\n", whole=True)] * 2,
        ),
        ("mkdir p; cd p; cat > /q/a.py <<'EOF'\nx\nEOF", [Touch("wrote", "/q/a.py", after="x\n", whole=True)]),
        ("cat > 'app/[id].py' <<'EOF'\nx\nEOF", [Touch("wrote", "app/[id].py", after="x\n", whole=True)]),
        ("cat <<< foo\ncat > a.py <<'EOF'\nx\nEOF", [ADDED]),
        ("echo 'a\\' && cat > a.py <<'EOF'\nx\nEOF", [ADDED]),
    ],
)
def test_here_documents(command: str, expected: list[Touch]) -> None:
    """The body of a here-document is a patch, or the text of a file."""
    assert expected == written(command)


@pytest.mark.parametrize(
    "command",
    [
        "cat > a.py <<EOF\n$HOME\nEOF",  # the shell replaces something, or may
        f"apply_patch <<EOF\n{PATCH.replace('x', '$x')}\nEOF",
        "cat > $DIR/a.py <<'EOF'\nx\nEOF",
        "cat > a.py <<'EOF'\nx",  # without an end
        "ssh host \"cat > a.py <<'EOF'\nx\nEOF\n\"",  # on another machine
        "ssh host 'mkdir p\ncat > a.py <<\"EOF\"\nx\nEOF\n'",
        "python3 - <<'EOF'\ncat > a.py <<'X'\nx\nX\nEOF",  # in the text of another program
        "if false; then\ncat > a.py <<'EOF'\nx\nEOF\nfi",
        "f() {\ncat > a.py <<'EOF'\nx\nEOF\n}",
        "mkdir p && cd p && cat > a.py <<'EOF'\nx\nEOF",  # where it is
        "(cd p)\ncat > a.py <<'EOF'\nx\nEOF",
        "cd $DIR\ncat > a.py <<'EOF'\nx\nEOF",
        "cat > a.py <<'A'; cat > b.py <<'B'\nx\nA\ncat > c.py <<'C'\ny\nC\nB",
        "cat > /dev/null <<'EOF'\nx\nEOF",
        "cat <<'EOF'\nx\nEOF",
        "grep x <<'EOF' > a.py\nx\nEOF",
        f"grep '{PATCH}'",
        "apply_patch",
        "apply_patch '",
    ],
)
def test_what_is_not_certain(command: str) -> None:
    """What a shell makes up, runs elsewhere, or may not run at all, is not known."""
    assert [] == written(command)


def test_a_patch_as_a_word() -> None:
    """A patch may be the second word of a command, below the directory of the call."""
    assert [Touch("wrote", "/p/a.py", after="x\n", whole=True)] == written(["apply_patch", PATCH], workdir="/p")


def test_an_absolute_path_stays() -> None:
    """The directory of a call is of no matter to an absolute path."""
    absolute = PATCH.replace("a.py", "/q/a.py")

    assert [Touch("wrote", "/q/a.py", after="x\n", whole=True)] == written(["apply_patch", absolute], workdir="/p")


@pytest.mark.parametrize(
    "text",
    [
        "cd " + " " * 200_000,
        "cat " * 50_000,
        "<<'A'\n" * 30_000,
        "; cat > " + ">" * 100_000,
        "'" * 200_000,
        "\\" * 200_001,
    ],
)
def test_hostile_commands(text: str) -> None:
    """The time for a command grows with its length: a quadratic one would take minutes here."""
    assert [] == written(f"{text} <<'EOF'\nx\nEOF")
