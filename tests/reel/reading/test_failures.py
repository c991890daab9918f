"""An error is one line that ends with the remedy."""

import pytest

from reel.base.errors import (
    BY_NAME,
    Conflict,
    Exists,
    Internal,
    InvalidMessage,
    InvalidParams,
    Killed,
    NotFound,
    NotRunning,
    ReelError,
)
from reel.cli.line.exits import CONFLICT, NOT_FOUND, NOT_RUNNING, REFUSED, status_of
from reel.reading.failures import explain, for_people


@pytest.mark.parametrize(
    ("error", "agent", "command", "expected"),
    [
        (
            NotFound("no agent zed; make one"),
            "zed",
            "show",
            "no conversation zed; create it with: reel new zed, or list all with: reel list",
        ),
        (
            NotFound("no agent zed", agent="zed"),
            "zed",
            "add",
            "no conversation zed; create it with: reel new zed, or add with --create",
        ),
        (
            NotFound("no agent zed", agent="zed"),
            "demo",
            "clone",
            "no conversation zed; create it with: reel new zed, or list all with: reel list",
        ),
        (
            NotFound("no agent zed"),
            "zed",
            "ask",
            "no conversation zed; to begin it, ask with --create; if it is the question: reel ask 'zed?'",
        ),
        (
            NotFound("no agent zed (did you mean ted?); make one"),
            "zed",
            "show",
            "no conversation zed (did you mean ted?); list all with: reel list",
        ),
        (
            NotFound("no agent zed (did you mean ted?); make one"),
            "zed",
            "add",
            "no conversation zed (did you mean ted?); to begin it, add with --create",
        ),
        (
            Conflict("#2 of ted is gone; it is kept as #4; place it with: reel ingest 01a2 --kept 4", kept=4),
            "ted",
            "ask",
            "#2 of ted is gone; it is kept as #4; place it with: reel ingest ted --kept 4",
        ),
        (NotFound("no agent a b"), "a b", "show", "no conversation a b; list all with: reel list --all"),
        (NotFound("no agent"), "0" * 32, "show", "no conversation; list all with: reel list --all"),
        (Killed("zed is dead; revive it"), "zed", "add", "zed is dead; revive it with: reel revive zed"),
        (
            Exists("agent x exists already; choose another name, or continue with that agent", agent="x"),
            "",
            "new",
            "conversation x exists already; choose another name, or see it with: reel show x",
        ),
        (
            Exists("a live agent has this name; choose another, or continue with that agent"),
            "renamed",
            "rename",
            "a live conversation has this name; choose another name",
        ),
        (Conflict("head is 5", agent="x"), "", "clone", "head is 5; see what happened with: reel log x"),
        (Conflict("head is 5"), "", "new", "head is 5"),
        (InvalidMessage("messages[0].role: no; try"), "z", "add", "messages[0].role: no; try"),
        (Internal("it failed; restart the daemon"), "zed", "add", "it failed; restart the daemon"),
        (NotRunning("start it with: reel start"), "zed", "add", "start it with: reel start"),
    ],
)
def test_remedy_of_an_error(error: ReelError, agent: str, command: str, expected: str) -> None:
    """The line says what is wrong and what to type."""
    assert expected == explain(error, agent, command=command)


def test_remedy_beside_a_text() -> None:
    """Who gave a text does not mean that the name is the question."""
    error = NotFound("no agent zed (did you mean ted?); make one")

    assert "no conversation zed (did you mean ted?); to begin it, ask with --create" == explain(
        error, "zed", command="ask", typed=["What?"]
    )


def test_field_of_an_option() -> None:
    """A parameter that was given as an option is called by the option's name."""
    error = InvalidParams("last: must be between 1 and 10000 (got -1)", field="last")

    assert "--last must be between 1 and 10000 (got -1)" == explain(error, "demo", options=["last"])
    assert error.message == explain(error, "demo")


def test_what_is_no_name() -> None:
    """What was typed as a name is said, and what a name is."""
    error = InvalidParams("name: a name is 1 to 128 letters, digits and . _ / @ -, and begins with …", field="name")
    rule = "is not a name: letters, digits and . _ / @ - only, at most 128, the first a letter or a digit"

    assert f'"x y" {rule}' == explain(error, "demo", command="rename", typed=["x y"])
    assert f'"my chat" {rule}' == explain(error, "my chat", command="add", typed=["some words"])


def test_start_of_a_daemon_on_another_socket() -> None:
    """The command that starts the daemon has the socket that was given."""
    error = NotRunning("no daemon answers on /a b; start it with: reel start")

    assert explain(error, "", socket="/a b").endswith("start it with: reel --socket '/a b' start")


def test_exit_statuses_are_stable() -> None:
    """Scripts rely on the exit statuses."""
    special = {"not_found": NOT_FOUND, "conflict": CONFLICT}

    assert {name: special.get(name, REFUSED) for name in BY_NAME} == {name: status_of(name) for name in BY_NAME}
    assert (1, 3, 4, 5) == (REFUSED, NOT_RUNNING, NOT_FOUND, CONFLICT)
    assert status_of("not_running") == NOT_RUNNING


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("agent agent has no marks", "conversation agent has no marks"),
        ("no agent my agent", "no conversation my agent"),
        ("into: an agent cannot be cloned into itself", "into: a conversation cannot be cloned into itself"),
        ("#4 is not in the conversation of agent demo any more", "#4 is not in the conversation demo any more"),
        ("expected at most 100 agents", "expected at most 100 agents"),
        ("no agent agent-7", "no conversation agent-7"),
        ("the agent-7 of an-agent", "the agent-7 of an-agent"),
        ("head is 5", "head is 5"),
    ],
)
def test_the_daemons_word_is_not_shown_to_people(said: str, read: str) -> None:
    """An agent is a conversation to people; the name of one stays as it is."""
    assert read == for_people(said)
