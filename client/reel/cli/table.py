"""The table of commands: name, positional arguments, summary, function, example and options.

The parser, the help, the manual page, docs/cli.md and the completions are all made from it.
"""

from typing import Any, NamedTuple, TypeAlias

from reel.cli.arguments import number, seconds, text
from reel.formats import FORMATS

Option: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]


class Command(NamedTuple):
    """A command of ``reel``."""

    name: str
    # Its positional arguments, such as "[AGENT] [TEXT]"; reel.cli.arguments says what they mean.
    positionals: str
    summary: str
    # module.function in reel.cli; the module is imported when the command runs.
    function: str
    example: str
    options: tuple[Option, ...] = ()
    # Options that take the place of the argument after the agent.
    replaces_text: tuple[str, ...] = ()
    writes: bool = False
    notes: str = ""
    # Whether the command is about all agents if none is named.
    agent_optional: bool = False
    # Whether the command runs even if the path of the socket is unknown.
    without_socket: bool = False


def option(*flags: str, **details: Any) -> Option:
    """Return an option as ``add_argument`` takes it: its flags, and the keyword arguments."""
    return flags, details


def _at(summary: str) -> Option:
    return option("--at", metavar="SEQ", type=number, help=summary)


_ROLE = option(
    "--role",
    choices=("user", "assistant", "system"),
    help="role of the message (default: user); system sets the prompt",
)

_FORMAT = option("--format", choices=FORMATS, metavar="FORMAT", help=f"the provider's format: {', '.join(FORMATS)}")
_CREATE = option("--create", action="store_true", help="create the agent if it does not exist")
_NO_PAGER = option("--no-pager", action="store_true", help="print everything, even if it is longer than the screen")
_TAG = option("--tag", metavar="K=V", action="append", type=text, help="set a tag; may be repeated")

# The environment variables and the exit statuses, for the help and the manual page.
ENVIRONMENT = (
    ("REEL_AGENT", "the agent, if none is named"),
    ("REEL_SOCKET", "the daemon's socket"),
    ("NO_COLOR", "no colours, if set"),
    ("PAGER", "program that shows long output (default: less)"),
    ("EDITOR", "editor for reel edit; VISUAL takes precedence"),
)
EXIT_STATUSES = (
    ("0", "done"),
    ("1", "refused, or failed"),
    ("2", "wrong usage"),
    ("3", "the daemon is not running"),
    ("4", "no such agent"),
    ("5", "conflict, as with --if-seq"),
)

COMMANDS = (
    Command(
        "start",
        "",
        "start the daemon unless it is running",
        "daemon.start",
        "reel start",
        (
            option("--database", metavar="FILE", help="database file (default: $REEL_DATABASE, else the usual place)"),
            option("--unless-stopped", action="store_true", help="do nothing if it was stopped with reel stop"),
        ),
    ),
    Command(
        "stop",
        "",
        "stop the daemon and wait until it has ended",
        "daemon.stop",
        "reel stop",
        notes="Until the next reel start, clients and editors do not start it by themselves,\n"
        "even if no daemon was running.",
    ),
    Command("status", "", "show whether the daemon is running", "daemon.status", "reel status"),
    Command(
        "doctor",
        "",
        "find out what is wrong and what to do about it",
        "doctor.doctor",
        "reel doctor",
        notes="Checks the settings, the socket, its directory, the daemon and its version,\n"
        "the locks, the database and the free space on its disk. Exits with status 1 if\n"
        "something is bad.",
        without_socket=True,
    ),
    Command("socket", "", "print the path of the daemon's socket", "daemon.socket", "nc -U $(reel socket)"),
    Command(
        "new",
        "[NAME]",
        "create an agent and print its name",
        "agents.new",
        'reel new demo --system "You are brief."',
        (
            option("--system", metavar="TEXT", type=text, help="system prompt"),
            option("--title", metavar="TEXT", type=text, help="title shown in lists"),
            _TAG,
        ),
        writes=True,
    ),
    Command(
        "add",
        "[AGENT] [TEXT]",
        "add a message and wait until it is on disk",
        "adding.add",
        'reel add demo "What is a tape deck?"\n  git diff | reel add demo\n'
        "  reel show demo --json | reel add copy --create --file -",
        (
            _ROLE,
            option(
                "--tool-call",
                nargs=3,
                metavar=("ID", "NAME", "ARGUMENTS"),
                action="append",
                type=text,
                help="a tool call of the assistant, with its arguments as JSON; repeat for parallel calls",
            ),
            option(
                "--tool-result",
                nargs=2,
                metavar=("ID", "OUTPUT"),
                type=text,
                help="the result of a tool call; OUTPUT - is read from stdin",
            ),
            option("--error", action="store_true", help="with --tool-result: the call failed"),
            option(
                "--file",
                metavar="FILE",
                help="add the messages of a file, one JSON message, record or string per line; - is stdin",
            ),
            _CREATE,
        ),
        replaces_text=("tool_call", "tool_result", "file"),
        writes=True,
        notes='TEXT is read from stdin if it is "-", or omitted while stdin is not a terminal;\n'
        "one trailing newline is removed. Put -- before a TEXT that begins with a dash.\n"
        "With $REEL_AGENT set and data on stdin, a single argument is the agent.",
    ),
    Command(
        "edit",
        "[AGENT]",
        "write a message in an editor and add it",
        "composing.edit",
        "EDITOR=nano reel edit demo",
        (_ROLE,),
        writes=True,
        notes="The editor is $VISUAL, else $EDITOR, else vi. An empty text adds nothing.",
    ),
    Command(
        "show",
        "[AGENT]",
        "show the conversation",
        "reading.show",
        "reel show demo --last 3",
        (
            option("--last", metavar="N", type=number, help="only the newest N"),
            _at("as it was at SEQ"),
            option(
                "--records", action="store_true", help="show the records as they are stored, with the system prompt"
            ),
            _NO_PAGER,
        ),
    ),
    Command(
        "log",
        "[AGENT]",
        "show every event, also cleared and rewound ones",
        "reading.log",
        "reel log demo --kind mark --kind rewind",
        (
            option("--since", metavar="SEQ", type=number, help="only events after SEQ"),
            option(
                "--kind", metavar="KIND", action="append", type=text, help="only events of this kind; may be repeated"
            ),
            option("--inherited", action="store_true", help="include the events before the agent was cloned"),
            _NO_PAGER,
        ),
    ),
    Command(
        "follow",
        "[AGENT]",
        "show events as they happen",
        "following.follow",
        "reel follow demo --last 3\n  reel follow --all\n  reel follow demo --kind user --exec ./answer",
        (
            option("--all", action="store_true", help="all agents, even if $REEL_AGENT is set"),
            option(
                "--since", metavar="SEQ", type=number, help="begin after SEQ (with all agents: after this event id)"
            ),
            option("--last", metavar="N", type=number, help="begin with the newest N messages"),
            option(
                "--kind", metavar="KIND", action="append", type=text, help="only events of this kind; may be repeated"
            ),
            option("--exec", metavar="COMMAND", help="run COMMAND for each event, with the event as JSON on stdin"),
        ),
        agent_optional=True,
        notes="Without AGENT, it follows all agents. It reconnects if the daemon is restarted,\n"
        "and misses nothing. A draft is shown until its message is added.",
    ),
    Command(
        "wait",
        "[AGENT]",
        "wait for an event and show it",
        "following.wait",
        "reel wait demo --kind assistant --timeout 60",
        (
            option("--since", metavar="SEQ", type=number, help="only events after SEQ (default: from now on)"),
            option(
                "--kind", metavar="KIND", action="append", type=text, help="only events of this kind; may be repeated"
            ),
            option("--timeout", metavar="SECONDS", type=seconds, help="how long to wait (default: without limit)"),
        ),
        notes="Exits with status 1 if nothing happened in time.",
    ),
    Command(
        "draft",
        "[AGENT] [TEXT]",
        "show live what you are writing",
        "composing.draft",
        "my-model | reel draft demo --add --role assistant",
        (
            option("--add", action="store_true", help="add the text as a message when stdin ends"),
            _ROLE,
        ),
        notes="TEXT is shown until you press Ctrl-C. Without TEXT, stdin is shown as it\n"
        "arrives. A draft is not stored unless it is added.",
    ),
    Command(
        "list",
        "",
        "list the agents",
        "reading.list_agents",
        "reel list --tree",
        (
            option("--tree", action="store_true", help="show clones below their sources"),
            option("--all", action="store_true", help="include killed agents"),
            option("--prefix", metavar="TEXT", type=text, help="only names that begin with TEXT"),
        ),
    ),
    Command("info", "[AGENT]", "show an agent's state", "reading.info", "reel info demo"),
    Command(
        "clear",
        "[AGENT]",
        "remove all messages but the system prompt",
        "navigation.clear",
        "reel clear demo",
        writes=True,
    ),
    Command(
        "clone",
        "[AGENT] [NAME]",
        "start a new conversation from a copy of this one",
        "agents.clone",
        "reel clone demo try-2 --at 17",
        (
            _at("copy it as it was at SEQ"),
            option("--into", metavar="OTHER", type=text, help="replace the conversation of OTHER instead"),
        ),
        replaces_text=("into",),
        writes=True,
    ),
    Command(
        "mark", "[AGENT] [LABEL]", "set a mark to rewind to", "navigation.mark", "reel mark demo draft", writes=True
    ),
    Command(
        "rewind",
        "[AGENT] [LABEL]",
        "go back to a mark",
        "navigation.rewind",
        "reel rewind demo draft",
        writes=True,
        notes="Without LABEL, it goes to the newest mark that has messages after it, so\n"
        "repeating the command walks back.",
    ),
    Command(
        "restore",
        "[AGENT] SEQ",
        "restore the conversation as it was at SEQ",
        "navigation.restore",
        "reel restore demo 17",
        writes=True,
    ),
    Command("undo", "[AGENT]", "undo the newest command", "navigation.undo", "reel undo demo", writes=True),
    Command("redo", "[AGENT]", "redo what undo has undone", "navigation.redo", "reel redo demo", writes=True),
    Command(
        "replay",
        "[AGENT]",
        "rebuild the state from the log and compare",
        "reading.replay",
        "reel replay demo --strict",
        (
            _at("as it was at SEQ; nothing is compared"),
            option("--strict", action="store_true", help="fail if an event cannot be read"),
        ),
        notes="If the live state differs from the log, it is repaired; the exit status is 1.",
    ),
    Command(
        "render",
        "[AGENT]",
        "print the body of a provider's request",
        "rendering.render",
        "reel render demo --format anthropic --set max_tokens=1024 > body.json",
        (
            _FORMAT,
            option("--set", metavar="K=V", action="append", type=text, help="set a key of the body; V is JSON or text"),
            option("--tools", metavar="FILE", help="file with the tools of the body, as JSON"),
            option("--model", metavar="NAME", type=text, help="model whose rules apply, if not in --set model="),
            _at("as it was at SEQ"),
            option("--budget", metavar="N", type=number, help="drop the oldest turns to stay below N tokens"),
            option("--pin", metavar="LABEL", type=text, help="with --budget: keep everything up to this mark"),
            option(
                "--open",
                choices=("close", "refuse"),
                help="tool calls without a result: close them with a placeholder, or refuse",
            ),
            option("--after", metavar="FILE", help="report whether the body extends the one of this earlier --report"),
            option("--report", metavar="FILE", help="write everything except the body to FILE, as JSON"),
        ),
        notes="Only the body goes to stdout. What had to be changed is listed on stderr.",
    ),
    Command(
        "ingest",
        "[AGENT] [FILE]",
        "add a provider's response and its token usage",
        "ingesting.ingest",
        "reel ingest demo --format anthropic response.json\n"
        "  curl -sN ... | reel ingest demo --format openai-chat --stream",
        (
            _FORMAT,
            option("--stream", action="store_true", help="read an event stream and print its text as it arrives"),
            option("--model", metavar="NAME", type=text, help="model that answered, if the body does not name it"),
            option("--names", metavar="FILE", help="the --report of the render, if it renamed tools"),
            option(
                "--interrupted", action="store_true", help="the response is incomplete (with --stream this is detected)"
            ),
            _CREATE,
        ),
        writes=True,
        notes='FILE is read from stdin if it is "-" or omitted. If a stream breaks off, what\n'
        "has arrived is added and marked as interrupted, and the exit status is 1.",
    ),
    Command(
        "load",
        "[AGENT] [FILE]",
        "add the history of a provider's request",
        "ingesting.load",
        "reel load demo --create --format openai-chat request.json",
        (
            _FORMAT,
            option("--model", metavar="NAME", type=text, help="model that answered, if the body does not name it"),
            _CREATE,
        ),
        writes=True,
        notes='FILE is read from stdin if it is "-" or omitted.',
    ),
    Command(
        "verify",
        "[AGENT]",
        "check the database for damage",
        "database.verify",
        "reel verify\n  reel verify demo",
        (option("--all", action="store_true", help="all agents, even if $REEL_AGENT is set"),),
        agent_optional=True,
        notes="Without AGENT, it checks all agents and the database file. It changes nothing\n"
        "and blocks nobody. Exits with status 1 if something is wrong.",
    ),
    Command(
        "backup",
        "FILE",
        "write a copy of the database to a new file",
        "database.backup",
        "reel backup ~/reel-$(date +%F).db",
        notes="Other commands are not blocked. The file gets its name once it is complete and\n"
        "on disk. Only its owner can read it. An existing file is not replaced.",
    ),
    Command(
        "kill",
        "[AGENT]",
        "kill an agent (it can be revived)",
        "agents.kill",
        'reel kill demo --reason "done"',
        (
            option("--reason", metavar="TEXT", type=text, help="reason, stored in the log"),
            option("--cascade", action="store_true", help="also kill its clones, recursively"),
        ),
        writes=True,
    ),
    Command("revive", "[AGENT]", "revive a killed agent", "agents.revive", "reel revive demo", writes=True),
    Command("rename", "[AGENT] NEW", "rename an agent", "agents.rename", "reel rename demo old-demo", writes=True),
    Command(
        "title",
        "[AGENT] TITLE",
        "set an agent's title",
        "agents.title",
        'reel title demo "About tape decks"',
        writes=True,
        notes="An empty TITLE removes it.",
    ),
    Command(
        "tag",
        "[AGENT] TAG...",
        "set tags (K=V) and remove them (K-)",
        "agents.tag",
        "reel tag demo topic=tapes draft-",
        writes=True,
        notes="With $REEL_AGENT set, every argument is a tag; name another agent with -a.",
    ),
    Command(
        "completion",
        "bash|zsh|fish",
        "print the completion script for a shell",
        "shells.completion",
        'eval "$(reel completion bash)"  # in ~/.bashrc\n'
        "  reel completion zsh > ~/.zfunc/_reel  # a directory of $fpath\n"
        "  reel completion fish > ~/.config/fish/completions/reel.fish",
        without_socket=True,
    ),
)
