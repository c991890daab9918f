"""Interrupts of an agent that others have taken back, with what it asked about."""

from typing import Any, Final

from strands.types.session import SessionAgent

from reel.sync.client import Client

_STATE: Final = "interrupt_state"


def end_if_taken_back(client: Client, agent: str, key: str, found: SessionAgent) -> None:
    """Let an agent be interrupted no more if others have gone back to before the interrupt.

    The state of an agent stays when others go back in its conversation. With the interrupt it would take no question.

    Args:
        client: asks the daemon.
        agent: the agent of the daemon.
        key: the key of the state under which the framework's record is.
        found: the record.
    """
    own: dict[str, Any] = getattr(found, "_internal_state", {})  # the oldest version has no interrupts
    state = own.get(_STATE)
    if type(state) is not dict or state.get("activated") is not True or client.agent(agent).open_calls:
        return
    (stored,) = client.state(agent, [key]).values
    events = client.history(
        agent, since=stored.seq - 1, before=stored.seq + 1, kinds=["state"], inherited=True, live=True
    ).events
    if not events:
        del own[_STATE]
