"""The command ``help``."""

from reel.cli.line.context import Context
from reel.cli.line.overview import TOPICS
from reel.cli.line.parser import command_parser, top_parser
from reel.cli.line.parsing import find_command

# What a topic was called before.
_SECOND_NAMES = {"agent": "name"}


def show_help(ctx: Context) -> None:
    """Print the help of a command, of a topic, or the overview."""
    if ctx.word is None:
        text = top_parser().format_help()
    elif (topic := _SECOND_NAMES.get(ctx.word, ctx.word)) in TOPICS:
        text = TOPICS[topic]
    else:
        text = command_parser(find_command(ctx.word)).format_help()
    ctx.out.lines([line] for line in text.rstrip("\n").split("\n"))
