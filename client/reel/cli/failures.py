"""What goes wrong, in one line that ends in the remedy."""

from reel.errors import ReelError
from reel.ids import is_name

# What helps, by the error's name; an agent's name is filled in. What the daemon advises is in the words of the
# protocol, and in its place stands what one types into a shell.
_REMEDIES = {
    "killed": "bring it back with: reel revive {agent}",
    "conflict": "see what happened with: reel log {agent}",
    "nothing_to_undo": "see what happened with: reel log {agent}",
    "protocol_mismatch": "restart the daemon with: reel stop; reel start",
    "internal": "the daemon's log has the details",
}


def explain(error: ReelError, agent: str, *, command: str = "") -> str:
    """Put an error and its remedy into one line.

    Args:
        error: what the daemon, or the client, said.
        agent: the one that the command was about.
        command: the command that failed.
    """
    remedy = _remedy(error, str(error.data.get("agent") or agent), command)
    what = error.message.partition("; ")[0] if remedy else error.message
    return f"{error.name}: {what}{f'; {remedy}' if remedy else ''}"


def _remedy(error: ReelError, agent: str, command: str) -> str:
    if "candidates" in error.data:
        return ""
    if error.name == "not_found":
        return _not_found_remedy(agent, command)
    if "open_calls" in error.data:
        return f"see them with: reel info {agent}"
    remedy = _REMEDIES.get(error.name, "")
    return "" if "{agent}" in remedy and not agent else remedy.format(agent=agent)


def _not_found_remedy(agent: str, command: str) -> str:
    """Say what to do where there is no such agent; not everything that was typed can be a name."""
    if not is_name(agent):
        return "see who there is with: reel list --all"
    if command == "add":
        return f"make it with: reel new {agent}, or add with --create"
    return f"make it with: reel new {agent}, or see who there is with: reel list"
