"""Commands that remove what was said, for good."""

from reel.cli.line.arguments import positive, text
from reel.cli.line.command import Command, option

_DRY_RUN = option("--dry-run", action="store_true", help="only print what would be removed")
_BACKUP = option("--backup", metavar="FILE", action="append", help="in this backup as well (may be repeated)")
_YES = option("--yes", action="store_true", help="do it without asking")

COMMANDS = (
    Command(
        "redact",
        "[NAME]",
        "replace what was said with a marker, for good",
        "redact",
        "reel redact demo --match 'sk-[A-Za-z0-9]+'\n  reel redact demo --seq 17",
        (
            option(
                "--match", metavar="REGEX", help="every text that matches, anywhere in the conversation and its past"
            ),
            option("--text", metavar="TEXT", type=text, help="this text, wherever it is"),
            option(
                "--seq",
                metavar="SEQ",
                type=positive,
                action="append",
                help="all content of one event (may be repeated)",
            ),
            _BACKUP,
            _DRY_RUN,
            _YES,
        ),
        writes=True,
        notes="It cannot be undone. Clones lose it as well, and so does what this conversation\n"
        "was cloned from. Exports keep it, and so do backups that are not named,\n"
        "including those that the daemon makes by itself; the command says where these\n"
        "are. With --seq, all versions of an imported message go, such as its first\n"
        "parts, and values kept beside the conversation lose the same words; other\n"
        "records of programs with these words are listed.",
    ),
    Command(
        "prune",
        "[NAME]",
        "remove what was replaced or undone, for good",
        "prune",
        "reel prune demo --keep-last 20 --dry-run\n  reel prune demo --before 30d --yes",
        (
            option(
                "--before", metavar="SEQ|TIME", type=text, help="before this event, or this time (2026-11-01, 30d, …)"
            ),
            option("--keep-last", metavar="N", type=positive, help="before the newest N messages"),
            _DRY_RUN,
            _YES,
        ),
        writes=True,
        notes="It cannot be undone, and gives the disk back. Messages that were cleared,\n"
        "rewound, undone or replaced before the point lose what they said, and so do\n"
        "values that newer ones replaced. The conversation stays as it is, and so does\n"
        "everything that a later state, a mark, a redo or a clone has. An undo that\n"
        "would lead to what is gone is refused. Backups and exports stay as they are.",
    ),
    Command(
        "purge",
        "[NAME...]",
        "remove conversations and their events, for good",
        "purge",
        "reel purge demo --dry-run\n  reel purge demo --cascade --yes\n  reel purge --retention --dry-run",
        (
            option("--cascade", action="store_true", help="also remove its killed clones, recursively"),
            option(
                "--retention",
                action="store_true",
                help="those that are too old by [retention] in reeld.toml",
            ),
            option("--now", action="store_true", help="with --retention: do not wait for a day after it was set"),
            option("--force", action="store_true", help="also remove all its clones, recursively"),
            _BACKUP,
            _DRY_RUN,
            _YES,
        ),
        writes=True,
        notes="It cannot be undone. What a clone has inherited stays with the clone.\n"
        "Backups that are not named keep everything, including those that the daemon\n"
        "makes by itself; the command says where these are.\n"
        "$REEL_AGENT is not used: name each conversation.",
    ),
    Command(
        "secrets",
        "",
        "list stored keys and passwords, or erase them",
        "secrets",
        "reel secrets\n  reel secrets --redact",
        (
            option("--redact", action="store_true", help="erase those that are not masked, for good"),
            _BACKUP,
            _YES,
        ),
        notes="Of each, it says which kind it is, where it is, whether a mark stands for it,\n"
        'when it was seen first, and whether it was sent to a model: "sent" if an answer\n'
        'follows it in its conversation, else "not known". The same fingerprint is the\n'
        "same secret. A repeated look reads only what is new.\n"
        "--redact shows the list, asks, and erases the secrets in all conversations, the\n"
        "search index, and the backups that it finds. It says what it could not reach.",
    ),
)
