"""Commands that start a conversation and write in it."""

from reel.cli.line.arguments import text
from reel.cli.line.command import CREATE, IF_STANDS, Command, option
from reel.cli.line.positions import position

_ROLE = option(
    "--role",
    choices=("user", "assistant", "system"),
    help="role of the message (default: user); system sets the prompt",
)

COMMANDS = (
    Command(
        "new",
        "[NEW_NAME]",
        "create a conversation and print its name",
        "new",
        'reel new demo --system "You are brief."',
        (
            option("--system", metavar="TEXT", type=text, help="system prompt"),
            option("--title", metavar="TEXT", type=text, help="title shown in lists"),
            option("--tag", metavar="K=V", action="append", type=text, help="set a tag; may be repeated"),
        ),
        writes=True,
    ),
    Command(
        "add",
        "[NAME] [TEXT]",
        "add a message and wait until it is on disk",
        "add",
        'reel add demo "What is a tape deck?"\n  git diff | reel add demo\n'
        '  reel add demo --from @last "What is a cassette deck?"\n'
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
            option(
                "--from",
                dest="begin",
                metavar="SEQ",
                type=position,
                help="replace the conversation from the message SEQ on; --file may be empty then",
            ),
            IF_STANDS,
            CREATE,
        ),
        replaces_text=("tool_call", "tool_result", "file"),
        writes=True,
        notes='TEXT is read from stdin if it is "-", or omitted while stdin is not a terminal;\n'
        "one trailing newline is removed. Put -- before a TEXT that begins with a dash.\n"
        "With $REEL_AGENT set and data on stdin, a single argument is the conversation.",
    ),
    Command(
        "edit",
        "[NAME]",
        "write a message in an editor and add it",
        "edit",
        "EDITOR=nano reel edit demo",
        (_ROLE,),
        writes=True,
        notes="The editor is $VISUAL, else $EDITOR, else vi. Below a cut line it shows which\n"
        "conversation you are writing to, and the last message. An empty text adds\n"
        "nothing.",
    ),
    Command(
        "draft",
        "[NAME] [TEXT]",
        "show live what you are writing",
        "draft",
        "my-model | reel draft demo --add --role assistant",
        (
            option("--add", action="store_true", help="add the text as a message when stdin ends"),
            _ROLE,
        ),
        notes="TEXT is shown until you press Ctrl-C. Without TEXT, stdin is shown as it\n"
        "arrives. A draft is not stored unless it is added.",
    ),
)
