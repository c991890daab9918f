"""A subscriber that does nothing, for tests that are about one of the things of which it is told."""

from collections.abc import Iterable

from reeld.agents.event_bus import CommittedEvent, Typist, Whose


class SilentSubscriber:
    """It follows in no connection's name, unless it is given one."""

    draws = False

    def __init__(self, connection: int | None = None) -> None:
        self.connection = connection

    def on_event(self, committed: CommittedEvent) -> None: ...

    def on_elsewhere(self) -> None: ...

    def on_reset(self, whose: Whose) -> None: ...

    def on_loss(self, lost: Iterable[Whose]) -> None: ...

    def on_draft(self, whose: Whose, writer: Typist, text: str) -> None: ...
