"""A conversation of the OpenHands SDK in the daemon, in which others take part."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

from openhands.sdk.conversation.impl.local_conversation import LocalConversation

from reel.integrations.openhands_sdk.file_store import ReelFileStore

# What the framework itself calls to begin; another version may have another name for it.
_BEGIN: Final = "_ensure_agent_ready"
# The states in which it does not go on until somebody says something.
_OVER: Final = ("finished", "stuck")


class ReelConversation(LocalConversation):  # type: ignore[misc]  # the framework's types are not read
    """A conversation, in place of ``Conversation(agent=…, workspace=…)``.

    It is the framework's own class with a :class:`ReelFileStore`. Before each message and each run it takes over what
    others have said, and what they have taken back.

    Args:
        agent: the agent; ``None`` for that of the stored conversation.
        workspace: where the agent works.
        conversation_id: the id of the conversation, to go on with one. Default: a new one.
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: the prefix of the agent's name; the id follows.
        **options: as the framework's class has them.

    Raises:
        InvalidParams: the prefix is not valid in an agent's name.
    """

    def __init__(
        self,
        agent: Any = None,
        workspace: str | Path | Any = ".",
        *,
        conversation_id: UUID | str | None = None,
        socket: str | None = None,
        autostart: bool = False,
        prefix: str = "openhands/",
        **options: Any,
    ) -> None:
        own = UUID(str(conversation_id)) if conversation_id is not None else uuid4()
        self._store = ReelFileStore(own, socket=socket, autostart=autostart, prefix=prefix)
        super().__init__(agent=agent, workspace=workspace, conversation_id=own, file_store=self._store, **options)
        self._seen = self._store.version
        self._end_waiting()

    @property
    def agent_name(self) -> str:
        """The name of the agent that has the conversation."""
        return self._store.agent_name

    def send_message(self, *args: Any, **more: Any) -> None:
        """Add a message of the user; it follows what other programs have added meanwhile."""
        self.refresh()
        super().send_message(*args, **more)

    def run(self, *args: Any, **more: Any) -> Any:
        """Let the agent go on from the conversation as it is now."""
        self.refresh()
        return super().run(*args, **more)

    async def arun(self, *args: Any, **more: Any) -> Any:
        """Let the agent go on from the conversation as it is now."""
        self.refresh()
        return await super().arun(*args, **more)

    def refresh(self) -> None:
        """Take over what others have said, and what they have taken back."""
        begin = getattr(self, _BEGIN, None)
        if begin is not None:  # it writes the prompt, before which nobody may have spoken
            begin()
        self._store.refresh()
        if self._store.version != self._seen:
            self._take_over()
            if not self._store.event_ids():  # others have taken its prompt away
                with self._state:
                    self.agent.init_state(self._state, on_event=self._on_event)
                self._store.refresh()
                self._take_over()
            self._seen = self._store.version
        self._end_waiting()

    def _take_over(self) -> None:
        """Let the framework read its files again, as it does when it begins."""
        state = self._state
        with state:
            if [event.id for event in state.events] == self._store.event_ids():
                return
            guard = getattr(state, "_write_guard", None)
            state._events = type(state.events)(self._store)  # noqa: SLF001 - as its create() does
            if guard is not None:
                state.events.set_write_guard(guard)
            if hasattr(state, "leaf_event_id"):
                state.leaf_event_id = self._store.newest
            state.rebuild_view()
            if state.execution_status.value in _OVER:
                state.execution_status = type(state.execution_status).IDLE

    def _end_waiting(self) -> None:
        """Wait for no confirmation if others have taken back what waited for it: the state stays when they do."""
        state = self._state
        with state:
            is_waiting = state.execution_status.value == "waiting_for_confirmation"
            # What waits may be among what is hidden.
            if is_waiting and not self._store.is_hidden and not state.get_unmatched_actions(state.events):
                state.execution_status = type(state.execution_status).IDLE

    def close(self) -> None:
        """End the conversation's tools, and close the connection to the daemon."""
        super().close()
        self._store.close()
