"""A provider that answers: what ``reel.toml`` and the command line say of it."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Literal

    from reel.said.formats import Dialect, Format


class Provider(NamedTuple):
    """A provider that answers.

    Args:
        name: what to call it in a message.
        format: the format that it speaks.
        extra: the fields to add to the body.
        command: a command line for the shell; ``None`` if a server is called.
        url: the address of the server; ``None`` for the format's own.
        key: the variable that has the key; ``None`` for the format's own.
        dialect: the server that it speaks with, if the model's name does not tell.
        tools: the tools that the model has; ``None`` if it has those of the conversation.
        budget: the most tokens of the history.
        cache: for how long the provider is to keep the common part of requests.
    """

    name: str
    format: Format
    extra: dict[str, Any]
    command: str | None = None
    url: str | None = None
    key: str | None = None
    dialect: Dialect | None = None
    tools: list[str] | None = None
    budget: int | None = None
    cache: Literal["5m", "1h"] | None = None

    @property
    def model(self) -> str | None:
        """The model that is asked."""
        model = self.extra.get("model")
        return model if isinstance(model, str) else None
