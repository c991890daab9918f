"""Suggestions for a command, an option or a choice that does not exist."""

from collections.abc import Collection, Iterable

# What other programs call our commands. The first one that exists is meant; of these words, the one that looks most
# like a command would be wrong.
_SYNONYMS = {
    "search": "grep find rg ack",
    "ask": "prompt query complete continue",
    "chat": "talk repl shell interactive",
    "continue": "resume latest last",
    "attach": "join enter",
    "pick": "choose select menu",
    "export": "",
    "import": "",
    "purge": "erase forget shred",
    "prune": "gc shrink vacuum",
    "redact": "censor mask scrub",
    "list": "ls ps agents conversations sessions threads",
    "show": "cat print read get open display less export",
    "follow": "tail watch stream subscribe",
    "usage": "tokens cost spent",
    "diff": "compare cmp",
    "blame": "annotate praise who",
    "tree": "branches graph",
    "view": "browser browse web html gui ui",
    "log": "history events reflog journal audit",
    "info": "describe inspect stat",
    "add": "send say post write message msg append push chat ask talk prompt",
    "edit": "compose vi vim editor",
    "new": "create make mk init touch",
    "clone": "fork branch cp duplicate worktree",
    "kill": "rm delete del remove archive close end drop purge erase",
    "revive": "unkill undelete resurrect unarchive reopen",
    "rename": "mv move",
    "rewind": "back rollback checkout jump goto",
    "restore": "reset revert switch",
    "mark": "bookmark label checkpoint save snapshot commit",
    "clear": "empty wipe truncate",
    "load": "import",
    "start": "up run daemon serve launch boot",
    "stop": "down shutdown quit exit halt",
    "stats": "metrics counters",
    "status": "stats ping health",
    "verify": "check fsck validate",
    "backup": "dump",
    "restore-backup": "recover",
    "doctor": "diagnose debug config settings",
}
# How much two words have in common if one is a slip of the other, from 0 to 1. With difflib's 0.6, `foo` is like
# `follow`; one wrong letter in four gives 0.75.
_ALIKE = 0.7
# What is not a command at all.
_OPTIONS = {"version": "reel --version", "restart": "reel stop; reel start", "-v": "reel --version"}


def like_command(name: str, known: Collection[str]) -> str:
    """Return which of the known commands is meant by an unknown one, to be appended to the error."""
    if name in _OPTIONS:
        return f" (did you mean `{_OPTIONS[name]}`?)"
    meant = [command for command, words in _SYNONYMS.items() if name in words.split()]
    for command in meant:
        if command in known:
            return f" (did you mean {command}?)"
    return "" if meant else like(name, known)


def like_argument(word: str, options: Collection[str]) -> str:
    """Return the suggestion for an argument that looks like an option, to be appended to the error."""
    name, remedy = word.partition("=")[0], "; put -- before arguments that begin with a dash"
    if not name.startswith("--"):
        return like(name, options) or remedy
    # Without the dashes, which would make all options alike.
    meant = like(name[2:], (option[2:] for option in options if option.startswith("--")))
    return meant.replace("mean ", "mean --") or remedy


def like(word: str, known: Iterable[str]) -> str:
    """Return which of these a word is most like, to be appended to an error; nothing if it is like none."""
    meant = nearest(word, known)
    return f" (did you mean {meant}?)" if meant else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return which of these a word is most like; empty if it is like none."""
    from difflib import get_close_matches  # noqa: PLC0415 - it costs 4 ms

    choices = list(known)
    close = get_close_matches(word, choices, n=1, cutoff=_ALIKE)
    meant = close or [choice for choice in choices if word and choice.startswith(word)]
    return meant[0] if meant else ""
