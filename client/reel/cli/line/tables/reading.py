"""Commands that read conversations and their logs."""

from reel.cli.line.arguments import grouping, number, port, positive, seconds, text
from reel.cli.line.command import Command, at, option
from reel.cli.line.positions import position
from reel.said.kinds import KNOWN

_KIND = option(
    "--kind",
    metavar="KIND",
    action="append",
    choices=tuple(sorted(KNOWN)),
    help="only events of this kind, such as user or mark; may be repeated",
)
_WITHOUT = option(
    "--without",
    metavar="KIND",
    action="append",
    choices=tuple(sorted(KNOWN)),
    help="leave out this kind of event, such as command, which programs keep for themselves; may be repeated",
)
_NO_PAGER = option("--no-pager", action="store_true", help="print everything, even if it is longer than the screen")
_COLOR = option("--color", choices=("auto", "always", "never"), help="when to use colours (default: auto)")

COMMANDS = (
    Command(
        "list",
        "[QUERY...]",
        "list the conversations",
        "list_agents",
        "reel list tape\n  reel list in:. after:7d\n  reel list --tree\n"
        "  reel list --format names | fzf --preview 'reel show --color always {}'",
        (
            option("-n", "--limit", metavar="N", type=positive, help="only the first N"),
            option(
                "--sort",
                choices=("updated", "created", "name"),
                help="by the last change (default), creation or name",
            ),
            option("--tree", action="store_true", help="show clones below their sources"),
            option("--all", action="store_true", help="include killed conversations"),
            option("--prefix", metavar="TEXT", type=text, help="only names that begin with TEXT"),
            option(
                "--tag",
                metavar="K=V",
                action="append",
                type=text,
                help="only those with this tag; may be repeated",
            ),
            option("--format", choices=("tsv", "names"), help="values between tabs, or only the names, for programs"),
            _COLOR,
            _NO_PAGER,
        ),
        notes="With QUERY, it lists only those that have all of its words in their name, title\n"
        "or tags. The filters of reel search that are about a conversation narrow it as\n"
        "well: in:DIR, after: and before: (its last change), tag:KEY=VALUE and\n"
        "agent:NAME. The most recently changed conversation comes first. A line says\n"
        "how long ago that was, how many messages it has, what it waits for (the\n"
        "assistant, or the result of a tool), who is writing, and its title or first\n"
        "words. The columns of --format tsv are name, id, alive or killed, updated,\n"
        "created, head, messages, whose turn it is, who is writing, title, first words\n"
        "and tags; times are in milliseconds.",
    ),
    Command(
        "search",
        "[QUERY...]",
        "find what was said in all conversations",
        "search",
        "reel search tape deck\n  reel search\n  reel search tape deck in:. after:last-week\n"
        "  reel search '\"tape deck\" -cassette role:user after:2026-11'",
        (
            option("-n", "--limit", metavar="N", type=positive, help="at most N hits (default: 20)"),
            option("--newest", action="store_true", help="what was said last first, and only what has every word"),
            option("--best", action="store_true", help="the best hits first, however old"),
            option("-l", "--conversations", action="store_true", help="only the names of conversations with hits"),
            option("-C", "--context", metavar="N", type=number, help="N lines before and after those with a match"),
            _COLOR,
            _NO_PAGER,
        ),
        notes="Searches messages, thinking, tool calls and results, prompts, notes and titles,\n"
        "including what was cleared, rewound or undone. The best hits are first, and of\n"
        "two that are as good, the newer one. A hit may lack words, and says which. It\n"
        'must have a +word and "a phrase". -without, one OR other and prefix* work, and\n'
        "so do role:tool, agent:NAME, tag:KEY=VALUE, before:TIME, after:TIME, in:DIR,\n"
        "file:PATH (in conversations that read or wrote it) and live:no (no longer in the\n"
        "conversation). has:TEXT is a piece of text, and '/get\\w+Name/' a regular\n"
        "expression: what has all of them, the latest first.\n"
        "TIME is a date such as 2026-11-01 or 2026-11, a day such as today, yesterday or\n"
        "monday, last-week, this-month, or how long ago: 12h, 7d, 3mo. Days are local\n"
        "ones. in:DIR is about what was begun in that directory, below it, or in another\n"
        "worktree of its repository; here: and in:. are this directory. At a terminal, a\n"
        "filter that means nothing is an error. Without QUERY, it searches as you type\n"
        "there. Exits with status 1 if nothing was found or chosen; a message says so at\n"
        "a terminal only, with what a part of the query would find.",
    ),
    Command(
        "show",
        "[NAME] [RANGE]",
        "show the conversation",
        "show",
        "reel show demo --last 3\n  reel show demo 12..20\n  reel show demo --code | sh",
        (
            option("--last", metavar="N", type=number, help="only the newest N"),
            at("as it was at SEQ"),
            option("--brief", action="store_true", help="fold tool calls, their results, and thinking"),
            option("--full", action="store_true", help="fold nothing"),
            option("--text", dest="texts_only", action="store_true", help="print only the texts, without headings"),
            option("--last-answer", action="store_true", help="print only the text of the assistant's last answer"),
            option("--code", action="store_true", help="print only the first code block of the last answer with code"),
            option(
                "--block", metavar="N", type=number, help="print only its N-th code block; -1 is the last of the answer"
            ),
            option(
                "--records", action="store_true", help="show the records as they are stored, with the system prompt"
            ),
            _COLOR,
            _NO_PAGER,
        ),
        notes="RANGE is one message, such as 12, or several, such as 12..20. At a terminal, it\n"
        "opens at the end, Markdown is styled, and tool output that would fill half of\n"
        "the screen is folded. Code is never wrapped or indented.",
        picks=True,
    ),
    Command(
        "follow",
        "[NAME]",
        "show events as they happen",
        "follow",
        "reel follow demo --last 3\n  reel follow --all\n  reel follow demo --kind user --exec ./answer",
        (
            option("--all", action="store_true", help="all conversations, even if $REEL_AGENT is set"),
            option(
                "--since",
                metavar="SEQ",
                type=position,
                help="begin after SEQ (without NAME: after this event id)",
            ),
            option("--last", metavar="N", type=number, help="begin with the newest N messages"),
            _KIND,
            _COLOR,
            option("--exec", metavar="COMMAND", help="run COMMAND for each event, with the event as JSON on stdin"),
        ),
        agent_optional=True,
        notes="Without NAME, it follows all conversations. It reconnects if the daemon is\n"
        "restarted, and misses nothing. At a terminal, a message grows on the screen\n"
        "while somebody writes it. Below a command that took messages away or brought\n"
        "them back, these are listed.",
        picks=True,
    ),
    Command(
        "wait",
        "[NAME]",
        "wait for an event and show it",
        "wait",
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
        "[NAME]",
        "show a conversation's state",
        "info",
        "reel info demo",
        (option("--marks", action="store_true", help="print only the labels of its marks, the newest first"),),
        picks=True,
    ),
    Command(
        "log",
        "[NAME]",
        "show every event, even cleared and rewound ones",
        "log",
        "reel log demo --kind mark --kind rewind\n  reel log demo --without command --without state",
        (
            option("--since", metavar="SEQ", type=position, help="only events after SEQ"),
            _KIND,
            _WITHOUT,
            option("--inherited", action="store_true", help="include the events before the conversation was cloned"),
            _COLOR,
            _NO_PAGER,
        ),
        picks=True,
    ),
    Command(
        "files",
        "[NAME]",
        "list what a conversation read, wrote and ran",
        "files",
        "reel files demo\n  reel files demo --deed wrote\n  reel files demo --file src/app.py --json",
        (
            option("-n", "--limit", metavar="N", type=positive, help="only the newest N"),
            option("--deed", choices=("read", "wrote", "ran"), help="only this"),
            option("--file", metavar="PATH", type=text, help="only this file: its whole path, or the last parts of it"),
            _COLOR,
            _NO_PAGER,
        ),
        notes="It knows the tools of Claude Code, Codex, opencode, Gemini CLI and pi, and\n"
        "tools of other programs with the same names and arguments. The newest is last.\n"
        "What failed or was denied is left out; a command that failed is listed, with its\n"
        "exit status if the tool says it. With --json it has the texts that were replaced\n"
        "and written, too. Which conversations touched a file: reel search -l file:PATH",
        picks=True,
    ),
    Command(
        "how",
        "COMMAND...",
        "say how a command is run in this project",
        "how",
        "reel how pytest\n  reel how 'make check'\n  reel how --everywhere docker build",
        (
            option("-n", "--limit", metavar="N", type=positive, help="at most N forms (default: 5)"),
            option("--everywhere", action="store_true", help="in all conversations, not only those of this project"),
            _COLOR,
        ),
        notes="From the conversations that were begun in this directory, below it, or in\n"
        "another worktree of its repository: the most frequent forms of the command and\n"
        "the newest one, how often each ended with which exit status, and what was done\n"
        "after it failed. A cd before it, and a tail behind it, are left out; behind a\n"
        "pipe, the exit status is not known. Exits with status 1 if no conversation ran\n"
        "it.",
    ),
    Command(
        "usage",
        "[NAME]",
        "add up the tokens that responses used",
        "usage",
        "reel usage --by model --cost\n  reel usage demo --by day\n  reel usage --by tag:project --format csv",
        (
            option("--by", metavar="WHAT", type=grouping, help="a line for each model, day or tag:KEY"),
            option("--all", action="store_true", help="all conversations, even if $REEL_AGENT is set"),
            option(
                "--cost", action="store_true", help="what they cost, as [prices] in reel.toml or a dated table says"
            ),
            option("--format", choices=("csv",), help="comma-separated values, for spreadsheets"),
            _COLOR,
        ),
        agent_optional=True,
        notes="Without NAME, it counts all conversations, killed ones included. What a clone\n"
        "shares with its source is counted once, with the source. CACHED and CACHE\n"
        "WRITES, which were read from the provider's cache and written to it, are parts\n"
        "of IN, and REASONING is a part of OUT. Days are those of the local time zone.",
    ),
    Command(
        "diff",
        "A[@SEQ] B[@SEQ]",
        "show what differs between two conversations",
        "diff",
        "reel diff demo try-2\n  reel diff demo@12 demo",
        (_COLOR, _NO_PAGER),
        notes="A@SEQ is the conversation as it was at SEQ, as in demo@12 or demo@~2. What both\n"
        "have is one line; - marks what only A has, and + what only B has. Exits with\n"
        "status 1 if they differ.",
    ),
    Command(
        "blame",
        "PATH",
        "say which conversation wrote each line of a file",
        "blame",
        "reel blame src/app.py\n  reel blame src/app.py:12",
        (_COLOR, _NO_PAGER),
        notes="It finds the edits of the file in all conversations, and compares them with the\n"
        "file and with git. A - stands for a line that a person wrote, or that two edits\n"
        "may have written; lines such as } are known only between other known lines.\n"
        "gone says that the message is no longer in its conversation: it was undone,\n"
        "rewound or compacted. With PATH:LINE, it says what was asked. git may take two\n"
        "seconds. Exits with status 1 if nothing is known.",
    ),
    Command(
        "tree",
        "[NAME]",
        "show the branches inside a conversation",
        "tree",
        "reel tree demo",
        (_COLOR, _NO_PAGER),
        notes="Each line is a stretch of messages: its seqs, how many there are, its marks, the\n"
        "clones that were made from it, and its first words. * marks what is in the\n"
        "conversation now. The current line continues in the same column; abandoned lines\n"
        "branch off to the right. reel restore and reel clone --at take any of these\n"
        "seqs.",
        picks=True,
    ),
    Command(
        "view",
        "[NAME]",
        "show conversations in a browser, live",
        "view",
        "reel view\n  reel view demo --no-browser",
        (
            option("--no-browser", action="store_true", help="print the link, and open no browser"),
            option("--port", metavar="N", type=port, help="listen on this port of 127.0.0.1 (default: a free one)"),
        ),
        agent_optional=True,
        notes="The page has a list of conversations with a search, each conversation as it\n"
        "grows, its branches, what differs between two points, and usage. Nothing can be\n"
        "changed there. It listens on 127.0.0.1 only, until Ctrl-C. The link works once,\n"
        "for one browser. On the page, ? lists the keys.",
    ),
)
