"""Replies: their form, and the replies that are held back or cannot be sent."""

from typing import Any, cast

import pytest
from msgpack import Unpacker

from reel.base.errors import NotFound
from reeld.serving.call import Call, ClientInfo
from reeld.serving.flow import ClientWarnings, Limits, Traffic
from reeld.serving.outbox import Outbox
from reeld.serving.replies import ReplyWriter


class RecordingOutbox(Outbox):
    """An outbox that keeps the replies that it is given."""

    def __init__(self) -> None:
        super().__init__(1, Limits(), Traffic(), lambda: None, lambda: None)
        self.unpacker = Unpacker()

    def reply(self, data: bytes) -> None:
        self.unpacker.feed(data)

    @property
    def messages(self) -> list[Any]:
        """The messages since the last look."""
        return list(self.unpacker)


class Writer:
    """A writer of replies, its outbox, and how often it gave up."""

    def __init__(self, max_held: int = 100) -> None:
        self.outbox = RecordingOutbox()
        self.given_up = 0
        self.replies = ReplyWriter(1, self.outbox, max_held, self._give_up, ClientWarnings())

    def _give_up(self) -> None:
        self.given_up += 1

    def introduce_old_neovim(self) -> None:
        """Introduce a peer whose replies are held back; nothing releases them."""
        self.replies.introduce(ClientInfo("nvim", "0.9.5", None, None), lambda *_: True)
        self.outbox.unpacker = Unpacker()


def made(number: int | None = 1, token: int | None = None) -> Call:
    """Return a call of the method ``add``."""
    return Call(cast(Any, None), lambda *_: None, number, "add", 10, token)


@pytest.mark.parametrize(
    ("call", "outcome", "expected"),
    [
        (made(7), {"head": 1}, [[1, 7, None, {"head": 1}]]),
        (made(None, 8), {"head": 1}, [[2, "reply", [{"token": 8, "result": {"head": 1}}]]]),
        (made(None), {"head": 1}, []),
        (made(None), NotFound("a secret"), []),
    ],
)
def test_forms_of_a_reply(call: Call, outcome: Any, expected: list[Any]) -> None:
    """A call with a number gets a response, one with a token a push, and one without either gets nothing."""
    writer = Writer()
    writer.replies.write(call, outcome)

    assert expected == writer.outbox.messages


def test_an_error_that_nobody_gets_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The error of a call without a reply is logged without its text, which may quote a message."""
    Writer().replies.write(made(None), NotFound("a secret"))

    assert ["connection=1 notification=add failed: not_found"] == caplog.messages


def test_replies_are_held_up_to_a_limit() -> None:
    """A reply is held back while a newer call is open; one that would exceed the limit closes the connection."""
    writer = Writer(max_held=100)
    writer.introduce_old_neovim()
    calls = [made(number) for number in (1, 2, 3)]
    for call in calls:
        writer.replies.expect(call)
    writer.replies.write(calls[0], {"text": "x" * 50})
    held = writer.replies.held
    assert (0, []) == (writer.given_up, writer.outbox.messages)
    writer.replies.write(calls[1], {"text": "x" * 50})

    assert 50 < held == writer.replies.held
    assert (1, []) == (writer.given_up, writer.outbox.messages)


def test_closing_forgets_held_replies() -> None:
    """A closed writer holds nothing back."""
    writer = Writer()
    writer.introduce_old_neovim()
    call = made()
    writer.replies.expect(call)
    writer.replies.write(call, {})
    assert writer.replies.held
    writer.replies.close()

    assert 0 == writer.replies.held
