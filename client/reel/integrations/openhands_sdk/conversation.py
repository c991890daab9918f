"""A conversation of the OpenHands SDK in the daemon, in which others take part."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

from openhands.sdk.conversation.impl.local_conversation import LocalConversation
from openhands.sdk.security.confirmation_policy import NeverConfirm

from reel.integrations.openhands_sdk.file_store import ReelFileStore

# What the framework itself calls to begin; another version may have another name for it.
_BEGIN: Final = "_ensure_agent_ready"
# The states in which it does not go on until somebody says something.
_OVER: Final = ("finished", "stuck")
# Those in which nothing runs, and in which it waits for a confirmation.
_AT_REST: Final = ("idle", *_OVER)
_WAITING: Final = "waiting_for_confirmation"


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
        self._check_waiting()

    @property
    def agent_name(self) -> str:
        """The name of the agent that has the conversation."""
        return self._store.agent_name

    def send_message(self, *args: Any, **more: Any) -> None:
        """Add a message of the user; it follows what other programs have added meanwhile."""
        self.refresh()
        super().send_message(*args, **more)

    def run(self, *args: Any, **more: Any) -> Any:
        """Let the agent go on from the conversation as it is now, unless what others have done waits for a person."""
        return None if self._has_begun_to_wait() else super().run(*args, **more)

    async def arun(self, *args: Any, **more: Any) -> Any:
        """Let the agent go on from the conversation as it is now, unless what others have done waits for a person."""
        return None if self._has_begun_to_wait() else await super().arun(*args, **more)

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
        self._check_waiting()

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

    def _has_begun_to_wait(self) -> bool:
        """Take over what others have done; return whether it waits for a confirmation. To run means to confirm."""
        was_waiting = self._is_waiting()
        self.refresh()
        return self._is_waiting() and not was_waiting

    def _is_waiting(self) -> bool:
        return bool(self._state.execution_status.value == _WAITING)

    def _check_waiting(self) -> None:
        """Wait for a confirmation if, and only if, something waits for it: the state stays when others go back."""
        state = self._state
        with state:
            was_waiting = self._is_waiting()
            may_wait = state.execution_status.value in _AT_REST and not isinstance(
                state.confirmation_policy, NeverConfirm
            )
            if not (was_waiting or may_wait) or self._store.is_hidden:  # what waits may be hidden
                return
            waits = bool(state.get_unmatched_actions(state.events))
            if waits != was_waiting:
                statuses = type(state.execution_status)
                state.execution_status = statuses.WAITING_FOR_CONFIRMATION if waits else statuses.IDLE

    def close(self) -> None:
        """End the conversation's tools, and close the connection to the daemon."""
        super().close()
        self._store.close()
