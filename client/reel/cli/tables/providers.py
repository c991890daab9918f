"""Commands that translate to and from the requests of providers."""

from reel.cli.arguments import number, text
from reel.cli.command import CREATE, Command, at, option
from reel.formats import FORMATS

_FORMAT = option("--format", choices=FORMATS, metavar="FORMAT", help=f"the provider's format: {', '.join(FORMATS)}")

COMMANDS = (
    Command(
        "render",
        "[AGENT]",
        "print the body of a provider's request",
        "rendering.render",
        "reel render demo --format anthropic --set max_tokens=1024 > body.json",
        (
            _FORMAT,
            option("--set", metavar="K=V", action="append", type=text, help="set a key of the body; V is JSON or text"),
            option("--tools", metavar="FILE", help="file with the tools of the body, as JSON"),
            option("--model", metavar="NAME", type=text, help="model whose rules apply, if not in --set model="),
            at("as it was at SEQ"),
            option("--budget", metavar="N", type=number, help="drop the oldest turns to stay below N tokens"),
            option("--pin", metavar="LABEL", type=text, help="with --budget: keep everything up to this mark"),
            option(
                "--open",
                choices=("close", "refuse"),
                help="tool calls without a result: close them with a placeholder, or refuse",
            ),
            option("--after", metavar="FILE", help="report whether the body extends the one of this earlier --report"),
            option("--report", metavar="FILE", help="write everything except the body to FILE, as JSON"),
        ),
        notes="Only the body goes to stdout. What had to be changed is listed on stderr.",
    ),
    Command(
        "ingest",
        "[AGENT] [FILE]",
        "add a provider's response and its token usage",
        "ingesting.ingest",
        "reel ingest demo --format anthropic response.json\n"
        "  curl -sN ... | reel ingest demo --format openai-chat --stream",
        (
            _FORMAT,
            option("--stream", action="store_true", help="read an event stream and print its text as it arrives"),
            option("--model", metavar="NAME", type=text, help="model that answered, if the body does not name it"),
            option("--names", metavar="FILE", help="the --report of the render, if it renamed tools"),
            option(
                "--interrupted", action="store_true", help="the response is incomplete (with --stream this is detected)"
            ),
            CREATE,
        ),
        writes=True,
        notes='FILE is read from stdin if it is "-" or omitted. If a stream breaks off, what\n'
        "has arrived is added and marked as interrupted, and the exit status is 1.",
    ),
    Command(
        "load",
        "[AGENT] [FILE]",
        "add the history of a provider's request",
        "ingesting.load",
        "reel load demo --create --format openai-chat request.json",
        (
            _FORMAT,
            option("--model", metavar="NAME", type=text, help="model that answered, if the body does not name it"),
            CREATE,
        ),
        writes=True,
        notes='FILE is read from stdin if it is "-" or omitted.',
    ),
)
