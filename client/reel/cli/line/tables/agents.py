"""Commands that copy, describe and end agents."""

from reel.cli.line.arguments import text
from reel.cli.line.command import Command, at, option

COMMANDS = (
    Command(
        "clone",
        "[NAME] [NEW_NAME]",
        "start a new conversation from a copy of this one",
        "clone",
        "reel clone demo try-2 --at 17",
        (
            at("copy it as it was at SEQ"),
            option("--into", metavar="OTHER", type=text, help="replace the conversation of OTHER instead"),
        ),
        replaces_text=("into",),
        writes=True,
    ),
    Command("rename", "[NAME] NEW_NAME", "rename a conversation", "rename", "reel rename demo old-demo", writes=True),
    Command(
        "title",
        "[NAME] TITLE",
        "set a conversation's title",
        "title",
        'reel title demo "About tape decks"',
        writes=True,
        notes="An empty TITLE removes it.",
    ),
    Command(
        "tag",
        "[NAME] TAG...",
        "set tags (K=V) and remove them (K-)",
        "tag",
        "reel tag demo topic=tapes draft-",
        writes=True,
        notes="With $REEL_AGENT set, every argument is a tag; name another conversation with\n-a.",
    ),
    Command(
        "kill",
        "[NAME]",
        "kill a conversation (it can be revived)",
        "kill",
        'reel kill demo --reason "done"',
        (
            option("--reason", metavar="TEXT", type=text, help="reason, stored in the log"),
            option("--cascade", action="store_true", help="also kill its clones, recursively"),
        ),
        writes=True,
        notes="reel archive is the same command.",
    ),
    Command(
        "revive",
        "[NAME]",
        "revive a killed conversation",
        "revive",
        "reel revive demo",
        (option("--cascade", action="store_true", help="also revive its killed clones, recursively"),),
        writes=True,
        notes="reel unarchive is the same command.",
    ),
)
