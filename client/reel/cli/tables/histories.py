"""Commands about the histories of other tools."""

from reel.cli.arguments import text
from reel.cli.command import Command, at, option
from reel.cli.tables.providers import ANSWERING
from reel.formats import FORMATS

# The forms of reel export, beside the formats of providers.
EXPORTS = ("markdown", "html", "jsonl")

COMMANDS = (
    Command(
        "import",
        "[TOOL] [PATH...]",
        "import conversations that other tools have kept",
        "importing.import_histories",
        "reel import\n  reel import claude-code ~/old/.claude",
        (
            option("--yes", action="store_true", help="import all that is found, without asking"),
            option("--dry-run", action="store_true", help="read everything, and only say what would be imported"),
            option("--watch", action="store_true", help="go on with what the tools write, until Ctrl-C"),
        ),
        notes="Without TOOL, it looks in the places where the known tools keep their\n"
        "conversations, lists them and asks. TOOL is one of:\n"
        "claude-code, codex, opencode, gemini-cli, aider, chatgpt, claude-ai, llm,\n"
        "openai-agents, jsonl, or reel, for the logs that reel export wrote.\n"
        "Nothing of a tool's files is changed. What was imported before is not imported\n"
        "twice, and a conversation that was changed here since is not written to.",
    ),
    Command(
        "continue",
        "",
        "go on with the last conversation of this directory",
        "continuing.continue_last",
        "reel continue --via claude\n  export REEL_AGENT=$(reel continue)",
        (option("--list", action="store_true", help="list all of them, the last one first"), *ANSWERING),
        notes="It is the one whose last message is the newest, of those with the tag cwd: those\n"
        "that were imported have it, and `reel tag AGENT cwd=$PWD` sets it. If this\n"
        "directory has none, the nearest one above it counts. At a terminal it is reel\n"
        "chat if --via or reel.toml says who answers; else the last messages are shown.\n"
        "Otherwise the name is printed.",
    ),
    Command(
        "export",
        "[AGENT]",
        "write a conversation as a file",
        "exporting.export",
        "reel export demo > demo.md\n  reel export demo --format html -o demo.html\n"
        "  reel export --all backup --format jsonl",
        (
            option(
                "--format",
                choices=(*EXPORTS, *FORMATS),
                metavar="FORMAT",
                help=f"{', '.join(EXPORTS)} (default: {EXPORTS[0]}), or a format of reel render",
            ),
            option("-o", "--output", metavar="FILE", help="file to write (default: stdout)"),
            option("--all", metavar="DIR", help="write every conversation to a file in DIR, killed ones as NAME@ID"),
            option("--model", metavar="NAME", type=text, help="for a provider's format, the model whose rules apply"),
            at("as it was at SEQ"),
        ),
        agent_optional=True,
        notes="markdown has what is in the conversation now, and can be pasted into an issue.\n"
        "html is one page that needs no network and runs no script; what was undone,\n"
        "rewound or cleared is in it, folded. jsonl is the whole log: the agent on the\n"
        "first line, an event on each other line. Files are readable by their owner only.",
    ),
)
