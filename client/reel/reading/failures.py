"""An error as one line that ends with what to do."""

from collections.abc import Container, Sequence

from reel.base.errors import ReelError
from reel.base.ids import is_id, is_name
from reel.reading.wording import flat

# What to do about an error, by its name. This replaces the daemon's advice, which is in terms of the protocol, by a
# command to type into a shell.
_REMEDIES = {
    "killed": "revive it with: reel revive {agent}",
    "conflict": "see what happened with: reel log {agent}",
    "nothing_to_undo": "see what happened with: reel log {agent}",
    "protocol_mismatch": "restart the daemon with: reel stop; reel start",
    "exists": "choose another name, or see it with: reel show {agent}",
}
# How the daemon's refusal of a name begins, which does not say what was refused.
_NO_NAME = "a name is 1 to "
# How the name that may be meant is named.
_MEANT = "did you mean "
_START = "start it with: reel start"
# The daemon says agent, which is the protocol's word, and people read conversation. The word before it tells it from
# the name of a conversation, which may be "agent" itself.
_AGENT = r"(^|: |\b(?:no|an|the|this|that|of|another|live|new|unused|killed|such|any) )(agents?)\b(?![-.:/@_])"


def explain(
    error: ReelError,
    agent: str,
    *,
    command: str = "",
    options: Container[str] = (),
    socket: str | None = None,
    typed: Sequence[str] = (),
) -> str:
    """Return an error and its remedy as one line.

    Args:
        error: the error of the daemon or the client.
        agent: the agent that the command was about.
        command: the command that failed.
        options: the names of its options.
        socket: the path that ``--socket`` gave.
        typed: the arguments, of which one may be no name.
    """
    if _NO_NAME in error.message:
        wrong = next((word for word in (agent, *typed) if word and not is_name(word) and not is_id(word)), None)
        if wrong is not None:
            rule = "letters, digits and . _ / @ - only, at most 128, the first a letter or a digit"
            return f'"{flat(wrong)}" is not a name: {rule}'
    if error.name == "timeout" and "seconds" in error.data:
        return f"{error.message}; see what is wrong with: reel doctor, or allow more time with: reel --timeout SECONDS"
    remedy = _kept_remedy(error, agent) or _remedy(error, str(error.data.get("agent") or agent), command, typed)
    what = error.message.partition("; ")[0] if remedy else error.message
    if (field := error.data.get("field")) in options and what.startswith(f"{field}: "):
        what = f"--{str(field).replace('_', '-')} {what.removeprefix(f'{field}: ')}"
    if socket and what.endswith(_START):
        from shlex import join  # noqa: PLC0415 - only if the daemon does not run

        what = f"{what.removesuffix(_START)}start it with: {join(['reel', '--socket', socket, 'start'])}"
    return f"{for_people(what)}{f'; {remedy}' if remedy else ''}"


def for_people(message: str) -> str:
    """Return a message of the daemon in the words that people read."""
    if "agent" not in message:
        return message
    import re  # noqa: PLC0415 - only if something failed

    said = re.sub(_AGENT, lambda found: f"{found[1]}conversation{'s' * found[2].endswith('s')}", message)
    return said.replace("an conversation", "a conversation").replace("conversation of conversation", "conversation")


def _kept_remedy(error: ReelError, agent: str) -> str:
    """Return how to place an answer that was refused and kept; empty if none was, or the conversation is unknown."""
    kept = error.data.get("kept")
    return f"it is kept as #{kept}; place it with: reel ingest {agent} --kept {kept}" if kept and agent else ""


def _remedy(error: ReelError, agent: str, command: str, typed: Sequence[str]) -> str:
    if "candidates" in error.data or "kept" in error.data:  # it says what to do
        return ""
    if error.name == "not_found":
        return _not_found_remedy(agent, command, is_meant=_MEANT in error.message, has_text=bool(typed))
    if "open_calls" in error.data:
        return f"see them with: reel info {agent}"
    if error.name == "exists" and "agent" not in error.data:
        return "choose another name"
    remedy = _REMEDIES.get(error.name, "")
    return "" if "{agent}" in remedy and not agent else remedy.format(agent=agent)


def _not_found_remedy(agent: str, command: str, *, is_meant: bool, has_text: bool) -> str:
    """Return what to do if there is no such agent; not everything that was typed can be a name.

    Args:
        agent: what was typed for it.
        command: the command.
        is_meant: whether the error names one that is like it.
        has_text: whether a text was typed beside it.
    """
    if not is_name(agent):
        return "list all with: reel list --all"
    if command == "ask":
        begin = "to begin it, ask with --create"
        return begin if has_text else f"{begin}; if it is the question: reel ask '{agent}?'"
    if is_meant:
        return f"to begin it, {command} with --create" if command in ("add", "chat") else "list all with: reel list"
    if command in ("add", "chat"):
        return f"create it with: reel new {agent}, or {command} with --create"
    return f"create it with: reel new {agent}, or list all with: reel list"
