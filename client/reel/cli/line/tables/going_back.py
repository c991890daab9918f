"""Commands that decide where a conversation goes on."""

from reel.cli.line.command import Command, option

COMMANDS = (
    Command(
        "undo",
        "[NAME]",
        "undo the newest command",
        "undo",
        "reel undo demo\n  reel undo demo --turn",
        (option("--turn", action="store_true", help="take back the newest question and everything after it"),),
        writes=True,
        notes="A command is one change, such as an add, a clear or a rewind. Nothing is\n"
        "deleted: reel redo brings back what was undone.\n"
        "A turn is often several commands: the question, calls of tools, their results,\n"
        "and the answer. --turn takes back all of them, whichever programs wrote them.\n"
        "It is one command itself, so reel undo brings the turn back.",
    ),
    Command("redo", "[NAME]", "redo what undo has undone", "redo", "reel redo demo", writes=True),
    Command("mark", "[NAME] [LABEL]", "set a mark to rewind to", "mark", "reel mark demo draft", writes=True),
    Command(
        "rewind",
        "[NAME] [LABEL]",
        "go back to a mark",
        "rewind",
        "reel rewind demo draft",
        writes=True,
        notes="Without LABEL, it goes to the newest mark that has messages after it, so\n"
        "repeating the command walks back.",
    ),
    Command(
        "restore",
        "[NAME] SEQ",
        "restore the conversation as it was at SEQ",
        "restore",
        "reel restore demo 17",
        writes=True,
    ),
    Command(
        "clear",
        "[NAME]",
        "remove all messages but the system prompt",
        "clear",
        "reel clear demo",
        writes=True,
    ),
)
