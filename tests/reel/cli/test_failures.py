"""An error is one line that ends with the remedy."""

import pytest

from reel.cli.exits import CONFLICT, NOT_FOUND, NOT_RUNNING, REFUSED, status_of
from reel.cli.failures import explain
from reel.errors import BY_NAME, Conflict, InvalidMessage, Killed, NotFound, NotRunning, ReelError


@pytest.mark.parametrize(
    ("error", "agent", "command", "expected"),
    [
        (
            NotFound("no agent zed; make one"),
            "zed",
            "show",
            "not_found: no agent zed; create it with: reel new zed, or list all with: reel list",
        ),
        (
            NotFound("no agent zed", agent="zed"),
            "zed",
            "add",
            "not_found: no agent zed; create it with: reel new zed, or add with --create",
        ),
        (
            NotFound("no agent zed", agent="zed"),
            "demo",
            "clone",
            "not_found: no agent zed; create it with: reel new zed, or list all with: reel list",
        ),
        (NotFound("no agent a b"), "a b", "show", "not_found: no agent a b; list all with: reel list --all"),
        (NotFound("no agent"), "0" * 32, "show", "not_found: no agent; list all with: reel list --all"),
        (Killed("zed is dead; revive it"), "zed", "add", "killed: zed is dead; revive it with: reel revive zed"),
        (Conflict("head is 5", agent="x"), "", "clone", "conflict: head is 5; see what happened with: reel log x"),
        (Conflict("head is 5"), "", "new", "conflict: head is 5"),
        (InvalidMessage("messages[0].role: no; try"), "z", "add", "invalid_message: messages[0].role: no; try"),
        (NotRunning("start it with: reel start"), "zed", "add", "not_running: start it with: reel start"),
    ],
)
def test_remedy_of_an_error(error: ReelError, agent: str, command: str, expected: str) -> None:
    """The line says what is wrong and what to type."""
    assert expected == explain(error, agent, command=command)


def test_exit_statuses_are_stable() -> None:
    """Scripts rely on the exit statuses."""
    special = {"not_found": NOT_FOUND, "conflict": CONFLICT}

    assert {name: special.get(name, REFUSED) for name in BY_NAME} == {name: status_of(name) for name in BY_NAME}
    assert (REFUSED, NOT_RUNNING, NOT_FOUND, CONFLICT) == (1, 3, 4, 5)
    assert status_of("not_running") == NOT_RUNNING
