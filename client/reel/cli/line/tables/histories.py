"""Commands about the histories of other tools."""

from reel.cli.line.arguments import text
from reel.cli.line.command import Command, at, option
from reel.cli.line.tables.providers import ANSWERING
from reel.said.formats import FORMATS

# The forms of reel export, beside the formats of providers.
EXPORTS = ("markdown", "html", "jsonl")
# The tools that can start the server for agents, as in reel.mcp.wiring.tools, which a completion need not import.
STARTERS = ("claude-code", "codex", "opencode", "gemini-cli", "pi", "cursor", "vscode", "zed", "claude-desktop")

COMMANDS = (
    Command(
        "import",
        "[TOOL] [PATH...]",
        "import conversations that other tools have kept",
        "import_histories",
        "reel import\n  reel import claude-code ~/old/.claude",
        (
            option("--yes", action="store_true", help="import all that is found, without asking"),
            option("--dry-run", action="store_true", help="read everything, and only say what is there"),
            option("--watch", action="store_true", help="keep importing what the tools write, until Ctrl-C"),
            option(
                "--restore-purged",
                action="store_true",
                help="bring back what was purged here, also what of it was redacted",
            ),
        ),
        notes="Without TOOL, it looks where the known tools keep their conversations, lists\n"
        "what it finds, and asks. TOOL is one of: claude-code, codex, opencode,\n"
        "gemini-cli, pi, openclaw, omp, copilot-cli, vscode-chat, qwen-code, kimi-code,\n"
        "mistral-vibe, kiro-cli, grok-build, openhands, cursor, cline, crush, continue,\n"
        "zed, aider, llm, chatgpt, claude-ai, openai-agents, jsonl, or reel, for the logs\n"
        "that reel export wrote. The files of the tools are not changed. Nothing is\n"
        "imported twice. If a conversation was changed here after it was imported, what\n"
        "its tool has added goes into a clone of it.",
    ),
    Command(
        "pick",
        "",
        "choose a conversation, and go on with it",
        "pick",
        "reel",
        ANSWERING,
        notes="reel alone does the same. Typing searches names, titles, tags and first words.\n"
        "Enter goes on with the chosen conversation, as reel continue does; Ctrl-O shows\n"
        "it, Ctrl-T shows its branches, Ctrl-X writes it into a Markdown file. show,\n"
        "chat, attach, ask, follow, log, info, tree and export let you choose in the same\n"
        "way if no conversation is named.",
    ),
    Command(
        "continue",
        "",
        "go on with this directory's last conversation",
        "continue_last",
        "reel continue --via claude\n  export REEL_AGENT=$(reel continue)",
        (option("--list", dest="listed", action="store_true", help="list all of them, the newest first"), *ANSWERING),
        notes="Of the conversations whose tag cwd is this directory, it is the one with the\n"
        "newest message. new, ask and chat set that tag where a conversation begins,\n"
        "imported conversations have it, and `reel tag NAME cwd=$PWD` changes it. If no\n"
        "conversation has this directory, its nearest parent counts. Opens reel chat if\n"
        "a provider is configured, else prints the last messages. In a script, it prints\n"
        "the name.",
    ),
    Command(
        "originals",
        "[TOOL]",
        "list, check, write back or erase original files",
        "originals",
        "reel originals\n  reel originals --verify\n  reel originals claude-code --write ~/old\n"
        "  reel originals --erase ~/Downloads/letters.jsonl",
        (
            option("--verify", action="store_true", help="read all of them, and compare them with their hashes"),
            option(
                "--write",
                metavar="DIR",
                dest="directory",
                help="write each below DIR, at the path where it was; files that are there stay",
            ),
            option(
                "--erase",
                metavar="PATH",
                help="erase those of a file, or of all files below a directory, for good; they are not kept again",
            ),
            option("--yes", action="store_true", help="erase them without asking"),
        ),
        notes="An import keeps the files that it reads if reel.toml says so: [import], then\n"
        "originals = true. An older version of a file is kept if it has what the newest\n"
        "one lacks; it is written with a number, as in history~1.jsonl.",
        without_socket=True,
        starts_daemon=False,
    ),
    Command(
        "export",
        "[NAME]",
        "write a conversation as a file",
        "export",
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
            option(
                "--all",
                metavar="DIR",
                dest="directory",
                help="write every conversation to a file in DIR, killed ones as NAME@ID",
            ),
            option("--model", metavar="NAME", type=text, help="for a provider's format, the model whose rules apply"),
            at("as it was at SEQ"),
        ),
        agent_optional=True,
        notes="markdown has what is in the conversation now, and can be pasted into an issue.\n"
        "html is one page that needs no network and runs no script; what was undone,\n"
        "rewound or cleared is in it as well, folded. jsonl is the whole log: the\n"
        "conversation on the first line, then one event on each line. Only their owner\n"
        "can read the files.",
        picks=True,
    ),
    Command(
        "mcp",
        "[TOOL]",
        "let agents read earlier conversations",
        "mcp",
        "reel mcp --install claude-code\n  reel mcp",
        (
            option("--install", action="store_true", help="let TOOL start this server, after showing what changes"),
            option("--uninstall", action="store_true", help="take that back"),
            option("--with-hooks", action="store_true", help="with --install: read sessions in before a compaction"),
            option("--yes", action="store_true", help="write it without asking"),
            option("--write", action="store_true", help="also let agents keep notes in conversations"),
            option("--show-secrets", action="store_true", help="show keys and passwords as they are"),
            option("--no-import", action="store_true", help="do not read in what tools have written since"),
            option("--hook", action="store_true", help="carry out a hook of TOOL, which --with-hooks installs"),
        ),
        notes="A server of the Model Context Protocol on stdin and stdout, which agents start\n"
        "themselves once it is installed. With it, they search what was said before, read\n"
        "it, and get back what a compaction dropped. It changes nothing, unless --write\n"
        "lets them keep notes. Keys and passwords in what was said are hidden, and so are\n"
        "conversations with the tag private. TOOL is one of: claude-code, codex,\n"
        "opencode, gemini-cli, pi, cursor, vscode, zed, claude-desktop.",
    ),
)
