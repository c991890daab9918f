"""The texts of the help that are about all commands."""

from reel.cli.line.table import GROUPS

DESCRIPTION = """\
Talk to reeld, the daemon that owns conversations with LLMs. Each has a name."""

NAME_RULE = """\
NAME is the name of a conversation, the beginning of one that no other name has,
or an id. A script that changes something must give the whole name. `-a NAME`
names it; otherwise, if $REEL_AGENT is set and the other arguments make sense
without NAME, it is that one; otherwise it is the first argument. So `reel add
"hi"` adds to $REEL_AGENT, while `reel add demo "hi"` and `reel show demo` mean
demo, whether it is set or not. If a single argument may be NAME or what comes
after it, reel chooses so that nothing is lost (`git diff | reel add demo`), or
refuses.

No word stands for the conversation that changed last, since a program may
change another one at any moment. Its name is:
reel list --limit 1 --format names"""

ENVIRONMENT = (
    ("REEL_AGENT", "the conversation, if none is named"),
    ("REEL_SOCKET", "the daemon's socket"),
    ("REEL_NO_START", "do not start the daemon, if set"),
    ("NO_COLOR", "no colours, if set"),
    ("PAGER", "program that shows long output (default: less)"),
    ("EDITOR", "editor for reel edit; VISUAL takes precedence"),
)
EXIT_STATUSES = (
    ("0", "done"),
    ("1", "refused, or failed"),
    ("2", "wrong usage"),
    ("3", "the daemon is not running"),
    ("4", "no such conversation"),
    ("5", "conflict, as with --if-seq"),
    ("6", "the answer was cut, refused or left empty"),
)
POSITIONS = """\
Every event of a conversation has a number, its seq: messages, marks, and
commands such as clear. Wherever a command takes SEQ, you can write:

12, #12       the event with this number, as reel shows it
@last, @, -   the newest message
@~2, ~2       the message two before the newest (quote ~2 in zsh)

`reel show` also takes ranges of them: 12..20, 12.., ..20, @~2..@last. --if-seq
takes a number only, since the end of a conversation moves."""
SETTINGS = """\
The file ~/.config/reel/reel.toml (or below $XDG_CONFIG_HOME) may have:

hints = false         no hints, such as how to undo a change
color = "never"       auto, always or never
pager = "less -R"     program that shows long output; "" for no program
agent = "demo"        the conversation, if none is named
start = false         do not start the daemon
via = "claude"        who answers in reel chat and reel ask

[providers.claude]    who answers; reel setup writes it, more in docs/cli.md
command = "./ask.sh"
format = "anthropic"
set = { model = "claude-opus-5", max_tokens = 8192 }

[aliases]             more commands
last = "show --last 1"

The daemon has a file of its own, reeld.toml; see: reeld --check"""

# What `reel help` explains besides commands.
TOPICS = {
    "name": NAME_RULE,
    "positions": POSITIONS,
    "settings": SETTINGS,
    "environment": "\n".join(f"{name:<14}{about}" for name, about in ENVIRONMENT),
    "exit-status": "\n".join(f"{status:<4}{about}" for status, about in EXIT_STATUSES),
}
CLOSING = """\
reel help COMMAND explains a command. See also: reel help name (which
conversation is meant), reel help positions (how a message is named), reel help
settings, reel help environment, reel help exit-status."""


def listing() -> str:
    """Return every command with its summary, in groups."""
    return "\n\n".join(
        "\n".join(
            [group.title, *(f"  {f'{each.name:<10} {each.positionals}':<29}{each.summary}" for each in group.commands)]
        )
        for group in GROUPS
    )
