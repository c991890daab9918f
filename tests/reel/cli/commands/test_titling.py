"""Titles that a model makes, when asked for."""

import shlex
from pathlib import Path

import pytest

from reel.cli.commands.shared.titling import as_title
from reel.sync.client import Client
from tests.reel.cli.commands.test_compacting import reel_line, via, whole
from tests.reel.cli.conftest import Reel, texts


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Tape decks", "Tape decks"),
        ("Title: “Tape decks.”\n", "Tape decks"),
        ("**Tape  decks**\n\nThis fits.", "Tape decks"),
        ("**Title:** Tape decks", "Tape decks"),
        ("# Title: **Tape decks**", "Tape decks"),
        ("x" * 81, "x" * 79 + "…"),
        ("Why?", "Why?"),
    ],
)
def test_what_is_a_title(text: str, title: str) -> None:
    """It is the first line, without what some models put around it."""
    assert title == as_title(text)


def test_a_title(reel: Reel, client: Client, name: str, tmp_path: Path) -> None:
    """It is made after the answer, is no part of the conversation, and is counted; one that is there stays."""
    first = reel("ask", name, "Hi?", "--create", "--title", *via(tmp_path, whole("Tape decks.")))
    reel("ask", name, "And?", "--title", *via(tmp_path, whole("Something else.")))

    assert (0, "Tape decks.\n") == first[:2]
    assert "Tape decks" == client.agent(name).title
    assert ["Hi?", "Tape decks.", "And?", "Something else."] == texts(reel, name)
    assert "27,000" in reel("usage", name).out
    assert "9,020 tokens, 2 % of 400,000 (gpt-5)" in reel("info", name).out


def test_no_title(reel: Reel, client: Client, name: str, tmp_path: Path) -> None:
    """An answer without a title is an answer, and the reason is said; without --title, nobody is asked."""
    said = tmp_path / "said"
    answers = f"[ ! -e {shlex.quote(str(said))} ] || exit 1; touch {shlex.quote(str(said))};"
    ran = reel("ask", name, "Hi?", "--create", "--title", *via(tmp_path, whole(), answers))
    said.unlink()
    again = reel("ask", name, "Hi?", *via(tmp_path, whole(), answers))

    assert (0, "All of it.\n") == ran[:2]
    assert "there is no title: " in ran.err
    assert "title" not in again.err
    assert None is client.agent(name).title


def test_a_person_is_faster(reel: Reel, client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """A title that is set while the model thinks stays."""
    said = shlex.quote(str(tmp_path / "said"))
    mine = f"if [ -e {said} ]; then {reel_line(daemon, 'title', name, 'Mine')} >/dev/null; fi; touch {said};"
    reel("ask", name, "Hi?", "--create", "--title", *via(tmp_path, whole("Theirs"), mine))

    assert "Mine" == client.agent(name).title
