"""What is being written, shown to the others: reel draft, as a process beside them."""

from pathlib import Path

import pytest

from reel.pushes import EventPush
from reel.sync.client import Client

from .conftest import Reel, texts
from .running import PATIENCE, started


def test_a_draft_grows_and_is_added(client: Client, daemon: str, name: str) -> None:
    """What comes from stdin is shown as it comes, and added at its end."""
    client.create(name)
    with client.subscribe(name) as pushes, started(daemon, "draft", name, "--add", "--role", "assistant") as running:
        stdin = running.process.stdin
        assert stdin is not None
        stdin.write(b"So f\xc3")
        stdin.flush()
        assert "So f" == next(pushes).text  # type: ignore[union-attr]
        stdin.write(b"\xa4r\n")
        stdin.close()
        running.until("added 2")
        told = [next(pushes)]
        while not isinstance(told[-1], EventPush):
            told.append(next(pushes))

    assert not told[-2].text  # type: ignore[union-attr]
    (message,) = client.messages(name).messages
    assert ("assistant", "So fär") == (message["role"], message["content"][0]["text"])  # type: ignore[typeddict-item]


def test_a_draft_that_is_not_added(client: Client, daemon: str, name: str) -> None:
    """Without --add nothing stays."""
    client.create(name)
    with client.subscribe(name) as pushes, started(daemon, "draft", name) as running:
        stdin = running.process.stdin
        assert stdin is not None
        stdin.write(b"hm")
        stdin.close()

        assert ["hm", ""] == [next(pushes).text for _ in range(2)]  # type: ignore[union-attr]
        assert 0 == running.process.wait(PATIENCE)

    assert not client.messages(name).messages


def test_a_draft_is_held(client: Client, daemon: str, name: str) -> None:
    """A text that is given as a word is shown until the command ends."""
    client.create(name)
    with client.subscribe(name) as pushes:
        with started(daemon, "draft", name, "thinking"):
            assert "thinking" == next(pushes).text  # type: ignore[union-attr]

        assert not next(pushes).text  # type: ignore[union-attr]


@pytest.mark.parametrize(("argv", "said"), [(("a text", "--add"), "reel add"), (("--add",), "nothing came")])
def test_a_draft_that_cannot_be_added(client: Client, daemon: str, name: str, argv: tuple[str, ...], said: str) -> None:
    """Where there is nothing to add, or another command for it, that is said."""
    client.create(name)
    with started(daemon, "draft", name, *argv) as running:
        assert running.process.stdin is not None
        running.process.stdin.close()

        assert said in running.until("--help")
        assert 2 == running.process.wait(PATIENCE)


def test_a_draft_that_is_refused_in_the_end(
    reel: Reel, client: Client, daemon: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was to be added is read to its end and kept, and can be added by the line that is printed."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    client.create(name)
    with client.subscribe(name) as pushes, started(daemon, "draft", name, "--add", "--role", "assistant") as running:
        stdin = running.process.stdin
        assert stdin is not None
        stdin.write(b"one,")
        stdin.flush()
        assert "one," == next(pushes).text  # type: ignore[union-attr]
        client.kill(name)
        stdin.write(b" two\n\n")
        stdin.close()
        assert 1 == running.process.wait(PATIENCE)
        said = running.until("killed: ")

    (kept,) = tmp_path.iterdir()
    assert f"reel: your text is kept; add it with: reel add {name} - --role assistant < {kept}\n" in said
    client.revive(name)
    reel("add", name, "-", "--role", "assistant", stdin=kept.read_bytes())
    assert texts(reel, name) == ["one, two\n"]
