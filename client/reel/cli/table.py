"""The table of commands: name, words, what it does, the function that does it, options, an example."""

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
    # Options in whose presence there is no word after the agent.
    replaces_text: tuple[str, ...] = ()
    writes: bool = False
    notes: str = ""
    # Without an agent it is about all of them.
    agent_optional: bool = False
    # It runs even if nobody can tell where the daemon listens.
    without_socket: bool = False


def option(*flags: str, **details: Any) -> Option:
    """Describe an option in the words of ``add_argument``."""
    return flags, details


def _at(summary: str) -> Option:
    return option("--at", metavar="SEQ", type=number, help=summary)


_ROLE = option("--role", choices=("user", "assistant", "system"), help="who says it; system sets the prompt")

_FORMAT = option("--format", choices=FORMATS, metavar="FORMAT", help=f"whose words: {', '.join(FORMATS)}")
_CREATE = option("--create", action="store_true", help="make the agent where there is none")
_NO_PAGER = option("--no-pager", action="store_true", help="print it all, though it is longer than the screen")
_TAG = option("--tag", metavar="K=V", action="append", type=text, help="a tag; may be repeated")

COMMANDS = (
    Command(
        "start",
        "",
        "start the daemon unless it runs already",
        "daemon.start",
        "reel start",
        (
            option("--database", metavar="FILE", help="the database; left out, $REEL_DATABASE or the default one"),
            option("--unless-stopped", action="store_true", help="not if it was stopped with reel stop"),
        ),
    ),
    Command(
        "stop",
        "",
        "stop the daemon and wait for its end",
        "daemon.stop",
        "reel stop",
        notes="Clients and editors do not start it by themselves until somebody runs\n"
        "reel start, also if no daemon runs now.",
    ),
    Command("status", "", "say whether the daemon runs, and how it is", "daemon.status", "reel status"),
    Command(
        "doctor",
        "",
        "find out what is wrong, and what to do about it",
        "doctor.doctor",
        "reel doctor",
        notes="Looks at the settings, the socket, its directory, the daemon and its version,\n"
        "who holds the locks, the database and the room on its disk. Exit status 1 if\n"
        "something is bad.",
        without_socket=True,
    ),
    Command("socket", "", "print the path of the daemon's socket", "daemon.socket", "nc -U $(reel socket)"),
    Command(
        "new",
        "[NAME]",
        "make an agent and print its name",
        "agents.new",
        'reel new demo --system "You are brief."',
        (
            option("--system", metavar="TEXT", type=text, help="its prompt"),
            option("--title", metavar="TEXT", type=text, help="what people read in lists"),
            _TAG,
        ),
        writes=True,
    ),
    Command(
        "add",
        "[AGENT] [TEXT]",
        "add a message; when this returns, it is on disk",
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
                help="a call of the assistant's, its arguments as JSON; repeated: parallel calls",
            ),
            option(
                "--tool-result",
                nargs=2,
                metavar=("ID", "OUTPUT"),
                type=text,
                help="what a call gave; - reads OUTPUT from stdin",
            ),
            option("--error", action="store_true", help="with --tool-result: the call failed"),
            option("--file", metavar="FILE", help="one message, record or JSON string a line; - is stdin"),
            _CREATE,
        ),
        replaces_text=("tool_call", "tool_result", "file"),
        writes=True,
        notes="TEXT comes from stdin where it is -, or left out and stdin is no terminal; one\n"
        "line end at its end is dropped. A TEXT that begins with a dash comes after --.\n"
        "With $REEL_AGENT set and data on stdin, one word is the agent.",
    ),
    Command(
        "edit",
        "[AGENT]",
        "write a message in an editor and add it",
        "composing.edit",
        "EDITOR=nano reel edit demo",
        (_ROLE,),
        writes=True,
        notes="The editor is $VISUAL, else $EDITOR, else vi; an empty text adds nothing.",
    ),
    Command(
        "show",
        "[AGENT]",
        "show the conversation",
        "reading.show",
        "reel show demo --last 3",
        (
            option("--last", metavar="N", type=number, help="only the newest so many"),
            _at("as it was at this seq"),
            option("--records", action="store_true", help="the records as they are stored, the prompt among them"),
            _NO_PAGER,
        ),
    ),
    Command(
        "log",
        "[AGENT]",
        "show every event, cleared and rewound ones too",
        "reading.log",
        "reel log demo --kind mark --kind rewind",
        (
            option("--since", metavar="SEQ", type=number, help="only later than this seq"),
            option("--kind", metavar="KIND", action="append", type=text, help="only events of it; may be repeated"),
            option("--inherited", action="store_true", help="with the past of what it was cloned from"),
            _NO_PAGER,
        ),
    ),
    Command(
        "follow",
        "[AGENT]",
        "show what happens, as it happens",
        "following.follow",
        "reel follow demo --last 3\n  reel follow --all\n  reel follow demo --kind user --exec ./answer",
        (
            option("--all", action="store_true", help="all agents, though $REEL_AGENT is set"),
            option("--since", metavar="SEQ", type=number, help="begin after this seq; of all agents: after this id"),
            option("--last", metavar="N", type=number, help="begin with the newest so many messages"),
            option("--kind", metavar="KIND", action="append", type=text, help="only events of it; may be repeated"),
            option("--exec", metavar="COMMAND", help="run this for each event, which comes on its stdin as JSON"),
        ),
        agent_optional=True,
        notes="Without an agent: all of them. It goes on when the daemon was restarted, and\n"
        "misses nothing. What somebody is writing is shown until it is there.",
    ),
    Command(
        "wait",
        "[AGENT]",
        "wait until something happens, and show it",
        "following.wait",
        "reel wait demo --kind assistant --timeout 60",
        (
            option("--since", metavar="SEQ", type=number, help="later than this seq; left out, than now"),
            option("--kind", metavar="KIND", action="append", type=text, help="only an event of it; may be repeated"),
            option("--timeout", metavar="SECONDS", type=seconds, help="how long; left out, as long as it takes"),
        ),
        notes="Exit status 1 where nothing came in time.",
    ),
    Command(
        "draft",
        "[AGENT] [TEXT]",
        "show the others what is being written",
        "composing.draft",
        "my-model | reel draft demo --add --role assistant",
        (
            option("--add", action="store_true", help="add it when it is complete"),
            _ROLE,
        ),
        notes="TEXT is shown until interrupted; without one, what stdin brings, as it comes.\n"
        "Nothing of a draft is stored unless it is added.",
    ),
    Command(
        "list",
        "",
        "list the agents",
        "reading.list_agents",
        "reel list --tree",
        (
            option("--tree", action="store_true", help="clones under their sources"),
            option("--all", action="store_true", help="the killed ones, too"),
            option("--prefix", metavar="TEXT", type=text, help="only names that begin with it"),
        ),
    ),
    Command("info", "[AGENT]", "describe an agent and its state", "reading.info", "reel info demo"),
    Command(
        "clear",
        "[AGENT]",
        "empty the conversation but for its prompt",
        "navigation.clear",
        "reel clear demo",
        writes=True,
    ),
    Command(
        "clone",
        "[AGENT] [NAME]",
        "start another conversation from this one",
        "agents.clone",
        "reel clone demo try-2 --at 17",
        (
            _at("from where it was at this seq"),
            option("--into", metavar="OTHER", type=text, help="replace this agent's conversation instead"),
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
        notes="Without a LABEL: to the newest mark that something was said after, so that\nrepeating it walks back.",
    ),
    Command(
        "restore",
        "[AGENT] SEQ",
        "make the conversation what it was at a seq",
        "navigation.restore",
        "reel restore demo 17",
        writes=True,
    ),
    Command("undo", "[AGENT]", "take back the newest command", "navigation.undo", "reel undo demo", writes=True),
    Command("redo", "[AGENT]", "bring back what undo took", "navigation.redo", "reel redo demo", writes=True),
    Command(
        "replay",
        "[AGENT]",
        "read the state anew from the log, and compare",
        "reading.replay",
        "reel replay demo --strict",
        (
            _at("as it was at this seq; nothing is compared"),
            option("--strict", action="store_true", help="fail where an event cannot be read"),
        ),
        notes="Exit status 1 where the running state differed from the log; it is mended.",
    ),
    Command(
        "render",
        "[AGENT]",
        "print it as the body of a provider's request",
        "rendering.render",
        "reel render demo --format anthropic --set max_tokens=1024 > body.json",
        (
            _FORMAT,
            option("--set", metavar="K=V", action="append", type=text, help="a key of the body; V is JSON, else text"),
            option("--tools", metavar="FILE", help="the body's tools, as JSON"),
            option("--model", metavar="NAME", type=text, help="whose rules count, where the body has no model"),
            _at("as it was at this seq"),
            option("--budget", metavar="N", type=number, help="leave out the oldest turns above so many tokens"),
            option("--pin", metavar="LABEL", type=text, help="with --budget: all up to this mark stays"),
            option("--open", choices=("close", "refuse"), help="calls without a result: make one up, or refuse"),
            option("--after", metavar="FILE", help="an earlier --report: say whether this goes on from it"),
            option("--report", metavar="FILE", help="write what was changed, and all but the body, as JSON"),
        ),
        notes="Only the body goes to stdout; what could not stay as it is goes to stderr.",
    ),
    Command(
        "ingest",
        "[AGENT] [FILE]",
        "add what a provider answered, and what it used",
        "ingesting.ingest",
        "reel ingest demo --format anthropic response.json\n"
        "  curl -sN ... | reel ingest demo --format openai-chat --stream",
        (
            _FORMAT,
            option("--stream", action="store_true", help="show the text of an event stream as it comes"),
            option("--model", metavar="NAME", type=text, help="who answered, where the body does not say"),
            option("--names", metavar="FILE", help="the --report of the render, where it renamed tools"),
            option("--interrupted", action="store_true", help="the answer broke off; a stream shows that itself"),
            _CREATE,
        ),
        writes=True,
        notes="FILE is stdin where it is - or left out. What came of a stream that breaks off\n"
        "is kept and marked; the exit status is 1.",
    ),
    Command(
        "load",
        "[AGENT] [FILE]",
        "add the history of a whole request",
        "ingesting.load",
        "reel load demo --create --format openai-chat request.json",
        (
            _FORMAT,
            option("--model", metavar="NAME", type=text, help="who made it, where the body does not say"),
            _CREATE,
        ),
        writes=True,
        notes="FILE is stdin where it is - or left out.",
    ),
    Command(
        "verify",
        "[AGENT]",
        "check that everything that is stored is whole",
        "database.verify",
        "reel verify\n  reel verify demo",
        (option("--all", action="store_true", help="all agents, though $REEL_AGENT is set"),),
        agent_optional=True,
        notes="Without an agent: all of them, and the database's file. Nothing is changed,\n"
        "and nobody has to wait for it. Exit status 1 where something is wrong.",
    ),
    Command(
        "backup",
        "FILE",
        "write a copy of the database into a new file",
        "database.backup",
        "reel backup ~/reel-$(date +%F).db",
        notes="Everybody can go on writing meanwhile. The file has its name when it is\n"
        "complete and on the disk; only its owner may read it. No file is replaced.",
    ),
    Command(
        "kill",
        "[AGENT]",
        "end an agent; it can be revived",
        "agents.kill",
        'reel kill demo --reason "done"',
        (
            option("--reason", metavar="TEXT", type=text, help="what people read about it"),
            option("--cascade", action="store_true", help="its living clones too, and theirs"),
        ),
        writes=True,
    ),
    Command("revive", "[AGENT]", "bring a killed agent back", "agents.revive", "reel revive demo", writes=True),
    Command(
        "rename", "[AGENT] NEW", "give an agent another name", "agents.rename", "reel rename demo old-demo", writes=True
    ),
    Command(
        "title",
        "[AGENT] TITLE",
        "give an agent another title",
        "agents.title",
        'reel title demo "About tape decks"',
        writes=True,
        notes="An empty TITLE takes it away.",
    ),
    Command(
        "tag",
        "[AGENT] TAG...",
        "set tags with K=V, remove them with K-",
        "agents.tag",
        "reel tag demo topic=tapes draft-",
        writes=True,
        notes="With $REEL_AGENT set every word is a tag; another agent is named with -a.",
    ),
    Command(
        "completion",
        "bash|zsh|fish",
        "print what completes reel in a shell",
        "shells.completion",
        'eval "$(reel completion bash)"  # in ~/.bashrc\n'
        "  reel completion zsh > ~/.zfunc/_reel  # a directory of $fpath\n"
        "  reel completion fish > ~/.config/fish/completions/reel.fish",
        without_socket=True,
    ),
)
