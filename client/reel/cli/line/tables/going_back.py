"""Commands that decide where a conversation goes on."""

from reel.cli.line.command import Command, option

COMMANDS = (
    Command(
        "undo",
        "[NAME]",
        "undo the newest command",
        "undo",
        "reel undo demo\n  reel undo demo --turn",
        (option("--turn", action="store_true", help="take back the newest question and all that came after it"),),
        writes=True,
        notes="Programs store a turn in one command or in several: a question, calls, results,\n"
        "an answer. --turn takes back all of it at once, whoever stored it, and reel undo\n"
        "brings it back.",
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
