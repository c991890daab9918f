"""Commands that read conversations and their logs."""

from reel.cli.arguments import grouping, number, port, positive, seconds, text
from reel.cli.command import Command, at, option
from reel.cli.positions import position
from reel.kinds import KNOWN

_KIND = option(
    "--kind",
    metavar="KIND",
    action="append",
    choices=tuple(sorted(KNOWN)),
    help="only events of this kind, such as user or mark; may be repeated",
)
_NO_PAGER = option("--no-pager", action="store_true", help="print everything, even if it is longer than the screen")
_COLOR = option("--color", choices=("auto", "always", "never"), help="when to use colours (default: auto)")

COMMANDS = (
    Command(
        "list",
        "[QUERY...]",
        "list the agents",
        "listing.list_agents",
        "reel list tape\n  reel list --tree\n  reel list --format names | fzf --preview 'reel show --color always {}'",
        (
            option("-n", "--limit", metavar="N", type=positive, help="only the first N"),
            option(
                "--sort",
                choices=("updated", "created", "name"),
                help="by the last change (default), creation or name",
            ),
            option("--tree", action="store_true", help="show clones below their sources"),
            option("--all", action="store_true", help="include killed agents"),
            option("--prefix", metavar="TEXT", type=text, help="only names that begin with TEXT"),
            option(
                "--tag", metavar="K=V", action="append", type=text, help="only agents with this tag; may be repeated"
            ),
            option("--format", choices=("tsv", "names"), help="values between tabs, or only the names, for programs"),
            _COLOR,
            _NO_PAGER,
        ),
        notes="QUERY is words; each listed agent has all of them in its name, title or tags.\n"
        "The last changed agent comes first: how long ago that was, how many messages it\n"
        "has, what it waits for (an answer of the assistant, or the result of a tool),\n"
        "who is writing, and its title or first words. The columns of --format tsv are\n"
        "name, id, alive or killed, updated, created, head, messages, whose turn it is,\n"
        "who is writing, title, first words and tags; times are milliseconds.",
    ),
    Command(
        "search",
        "[QUERY...]",
        "find what was said in all conversations",
        "searching.search",
        "reel search tape deck\n  reel search\n  reel search '\"tape deck\" -cassette role:user after:2026-11'",
        (
            option("-n", "--limit", metavar="N", type=positive, help="at most N hits (default: 20)"),
            option("--best", action="store_true", help="the best hits first (default: the newest)"),
            _COLOR,
            _NO_PAGER,
        ),
        notes="It searches texts, thinking, calls, results, prompts, notes and titles, also\n"
        'what was cleared, rewound or undone. All words must be there; "a phrase",\n'
        "-without, one OR other and prefix* work, and so do role:tool, agent:NAME,\n"
        "tag:KEY=VALUE, before:DATE, after:DATE and live:no (not in the conversation any\n"
        "more). Without QUERY, at a terminal, it searches as you type. Exits with status\n"
        "1 if nothing was found, which it says only at a terminal, or nothing was chosen.",
    ),
    Command(
        "show",
        "[AGENT] [RANGE]",
        "show the conversation",
        "showing.show",
        "reel show demo --last 3\n  reel show demo 12..20\n  reel show demo --code | sh",
        (
            option("--last", metavar="N", type=number, help="only the newest N"),
            at("as it was at SEQ"),
            option("--brief", action="store_true", help="fold calls and results of tools, and thinking"),
            option("--full", action="store_true", help="fold nothing"),
            option("--text", action="store_true", help="print only the texts, without headings"),
            option("--last-answer", action="store_true", help="print only the text of the assistant's last answer"),
            option(
                "--code",
                metavar="N",
                nargs="?",
                const=1,
                type=number,
                help="print only the N-th code block (default: the first) of the last answer that has one",
            ),
            option(
                "--records", action="store_true", help="show the records as they are stored, with the system prompt"
            ),
            _COLOR,
            _NO_PAGER,
        ),
        notes="RANGE is a message, such as 12, or several, such as 12..20. At a terminal it\n"
        "begins at the end, Markdown has colours, and what a tool returned is folded if\n"
        "it would fill half of the screen. Code is never wrapped nor indented.",
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
                "--since", metavar="SEQ", type=position, help="begin after SEQ (with all agents: after this event id)"
            ),
            option("--last", metavar="N", type=number, help="begin with the newest N messages"),
            _KIND,
            _COLOR,
            option("--exec", metavar="COMMAND", help="run COMMAND for each event, with the event as JSON on stdin"),
        ),
        agent_optional=True,
        notes="Without AGENT, it follows all agents. It reconnects if the daemon is restarted,\n"
        "and misses nothing. At a terminal, what somebody is writing grows until it is\n"
        "added. Messages that a command took away or brought back are listed below it.",
    ),
    Command(
        "wait",
        "[AGENT]",
        "wait for an event and show it",
        "following.wait",
        "reel wait demo --kind assistant --timeout 60",
        (
            option("--since", metavar="SEQ", type=position, help="only events after SEQ (default: from now on)"),
            _KIND,
            option("--timeout", metavar="SECONDS", type=seconds, help="how long to wait (default: without limit)"),
        ),
        notes="Exits with status 1 if nothing happened in time.",
    ),
    Command(
        "info",
        "[AGENT]",
        "show an agent's state",
        "reading.info",
        "reel info demo",
        (option("--marks", action="store_true", help="print only the labels of its marks, the newest first"),),
    ),
    Command(
        "log",
        "[AGENT]",
        "show every event, also cleared and rewound ones",
        "reading.log",
        "reel log demo --kind mark --kind rewind",
        (
            option("--since", metavar="SEQ", type=position, help="only events after SEQ"),
            _KIND,
            option("--inherited", action="store_true", help="include the events before the agent was cloned"),
            _COLOR,
            _NO_PAGER,
        ),
    ),
    Command(
        "usage",
        "[AGENT]",
        "add up the tokens that responses used",
        "usage_sums.usage",
        "reel usage --by model\n  reel usage demo --by day\n  reel usage --by tag:project --format csv",
        (
            option("--by", metavar="WHAT", type=grouping, help="a line for each model, day or tag:KEY"),
            option("--all", action="store_true", help="all agents, even if $REEL_AGENT is set"),
            option("--format", choices=("csv",), help="comma-separated values, for spreadsheets"),
            _COLOR,
        ),
        agent_optional=True,
        notes="Without AGENT, it counts all agents, killed ones included. What a clone shares\n"
        "with its source is counted once, with the source. CACHED is part of IN, and\n"
        "REASONING part of OUT. A day is one of the local time zone.",
    ),
    Command(
        "diff",
        "A[@SEQ] B[@SEQ]",
        "show what differs between two conversations",
        "comparing.diff",
        "reel diff demo try-2\n  reel diff demo@12 demo",
        (_COLOR, _NO_PAGER),
        notes="With @SEQ it is the conversation as it was then, as in demo@12 or demo@~2. What\n"
        "both have is one line; - is only in A, and + only in B. Exits with status 1 if\n"
        "they differ.",
    ),
    Command(
        "tree",
        "[AGENT]",
        "show the branches inside a conversation",
        "branching.tree",
        "reel tree demo",
        (_COLOR, _NO_PAGER),
        notes="A line is a stretch of messages: its seqs, how many there are, its marks and the\n"
        "clones that left from it, and its first words. * is what is in the conversation\n"
        "now. A stretch goes on below in the same column; what was rewound, cleared or\n"
        "undone branches off. reel restore and reel clone --at take each of the seqs.",
    ),
    Command(
        "view",
        "[AGENT]",
        "show conversations in a browser, live",
        "viewing.view",
        "reel view\n  reel view demo --no-browser",
        (
            option("--no-browser", action="store_true", help="print the link, and open no browser"),
            option("--port", metavar="N", type=port, help="listen on this port of 127.0.0.1 (default: a free one)"),
        ),
        agent_optional=True,
        notes="It shows the list with a search, each conversation as it grows, its branches,\n"
        "what differs between two points, and usage; nothing can be changed there. It\n"
        "listens on 127.0.0.1 only, until Ctrl-C. The link works once, for one browser.\n"
        "In the page, ? lists the keys.",
    ),
)
