"""Commands that translate to and from the requests of providers."""

from reel.cli.line.arguments import number, text
from reel.cli.line.command import CREATE, IF_STANDS, Command, at, option
from reel.said.formats import ANSWERING_FORMATS, DIALECTS, FORMATS

_FORMAT = option(
    "--format",
    choices=ANSWERING_FORMATS,
    metavar="FORMAT",
    help=f"the provider's format: {', '.join(ANSWERING_FORMATS)}",
)
_ANY_FORMAT = option("--format", choices=FORMATS, metavar="FORMAT", help=f"the format: {', '.join(FORMATS)}")

_DIALECT = option(
    "--dialect",
    choices=DIALECTS,
    metavar="NAME",
    help=f"the server's variant of the format, if the model name does not imply it: {', '.join(DIALECTS)}",
)
_SET = option("--set", metavar="K=V", action="append", type=text, help="set a key of the body; V is JSON or text")
_TOOLS = option("--tools", metavar="FILE", help="file with the tools of the body, as JSON")
_ONLY_TOOLS = option(
    "--only-tools",
    metavar="NAME,...",
    type=text,
    help="tools this model may call; earlier calls of other tools are sent as text",
)
_VIA = option(
    "--via", metavar="COMMAND", help="provider of reel.toml, or a command that turns a request into a response"
)
_MODEL = option("-m", "--model", metavar="NAME", type=text, help="model, an alias of reel.toml, or PROVIDER/MODEL")
_BUDGET = option("--budget", metavar="N", type=number, help="drop the oldest turns to stay below N tokens")
_CACHE = option("--cache", choices=("5m", "1h", "off"), help="how long the provider keeps what two requests share")
_SYSTEM = option("--system", metavar="TEXT", type=text, help="system prompt of a conversation that is created")
_TITLE = option(
    "--title",
    dest="asks_for_title",
    action="store_true",
    help="let the model title the conversation, unless it has a title",
)
# The options of commands in which a model answers.
ANSWERING = (_VIA, _MODEL, _FORMAT, _DIALECT, _SET, _TOOLS, _ONLY_TOOLS, _BUDGET, _CACHE)

COMMANDS = (
    Command(
        "ask",
        "[NAME] [TEXT]",
        "ask a model, and print its answer",
        "ask",
        'reel ask "What is a tape deck?"\n'
        '  git diff | reel ask demo "Review this."\n'
        '  reel ask demo "What is on it?" --with photo.png -m claude-opus-5\n'
        '  reel ask demo "Why?" --via ./ask.sh --format openai-chat',
        (
            *ANSWERING,
            option(
                "--with",
                dest="with_file",
                metavar="FILE",
                action="append",
                help="send a file along: its text, or a picture, PDF, sound or video; - is stdin",
            ),
            option("--attach", metavar="FILE", action="append", help="send a file along, a text with its name"),
            option("--no-stdin", action="store_true", help="do not send what is piped in"),
            option("--replace", action="store_true", help="replace what is not UTF-8 by U+FFFD"),
            option("-t", "--template", metavar="NAME", type=text, help="a template of reel.toml"),
            option("--schema", metavar="FILE", help="JSON schema, in a file or as JSON, that the answer must have"),
            _SYSTEM,
            _TITLE,
            CREATE,
        ),
        writes=True,
        agent_optional=True,
        notes="The question and the answer are added. Without NAME, a conversation begins.\n"
        "COMMAND gets the body of the request on stdin, and writes the response to stdout\n"
        "(see reel setup for providers that need none). What is piped in is sent after\n"
        "TEXT; without TEXT it is the question. Without both, what was said last is\n"
        "answered. The status is 6 if the answer was cut, refused or empty.\n"
        "Ctrl-C ends the answer: what has arrived is added, marked as interrupted.",
        picks=True,
    ),
    Command(
        "chat",
        "[NAME]",
        "talk to a model at a prompt",
        "chat",
        "reel chat demo --via claude",
        (
            *ANSWERING,
            _SYSTEM,
            _TITLE,
            CREATE,
        ),
        agent_optional=True,
        notes="Without NAME, one chooses: a new conversation, or one of those that there are.\n"
        "What is typed there begins the first message of a new one. COMMAND is as in\n"
        "reel ask. /help at the prompt lists what can be typed there: /undo, /clone,\n"
        "/system and more. Ctrl-C ends an answer, and Ctrl-D the chat.",
        picks=True,
    ),
    Command(
        "attach",
        "[NAME]",
        "talk in a conversation that others answer",
        "attach",
        "reel attach demo",
        notes="It shows what is said as it comes, as reel follow does, above a prompt: what is\n"
        "typed there is added as a message of the user, and a program that follows the\n"
        "conversation answers. /help lists /undo, /attach, /edit and more; Ctrl-C drops a\n"
        "line, and Ctrl-D leaves.",
        picks=True,
    ),
    Command(
        "compact",
        "[NAME]",
        "sum up the beginning of a conversation",
        "compact",
        "reel compact demo\n  reel compact demo --to draft\n  reel compact demo --note 'Keep all figures.' --keep 5",
        (
            option(
                "--keep", metavar="N", type=number, help="keep the newest N questions and their answers (default: 2)"
            ),
            option(
                "--to", metavar="LABEL", type=text, help="sum up what is before this mark, and keep what is after it"
            ),
            option("--note", metavar="TEXT", type=text, help="what the summary should not miss"),
            *ANSWERING,
        ),
        writes=True,
        notes="The summary takes the place of what it is about, and what stays is behind it.\n"
        "reel undo takes that back. What was summed up is still found by a search, and\n"
        "reel tree shows it as a branch. COMMAND is as in reel ask. If no whole summary\n"
        "comes, nothing is changed.",
    ),
    Command(
        "setup",
        "[PROVIDER]",
        "write into reel.toml who can answer here",
        "setup",
        "reel setup\n  reel setup box --url http://box:8000/v1",
        (
            option("--url", metavar="URL", help="the address of a server that is compatible with OpenAI's"),
            option("--key", metavar="VARIABLE", help="the environment variable that has its key"),
            option("-m", "--model", metavar="NAME", type=text, help="the model (default: the first one of the server)"),
            _FORMAT,
            option("--dry-run", action="store_true", help="print reel.toml as it would be"),
        ),
        notes="Keys are found in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY,\n"
        "GEMINI_API_KEY, OPENROUTER_API_KEY), and servers at their usual addresses\n"
        "(Ollama, LM Studio, vLLM, llama.cpp). What reel.toml has is not changed. No key\n"
        "is written to it.",
        without_socket=True,
        starts_daemon=False,
    ),
    Command(
        "render",
        "[NAME]",
        "print the body of a provider's request",
        "render",
        "reel render demo --format anthropic --set max_tokens=1024 > body.json",
        (
            _ANY_FORMAT,
            _SET,
            _TOOLS,
            option("--model", metavar="NAME", type=text, help="model whose rules apply, if not in --set model="),
            at("as it was at SEQ"),
            _BUDGET,
            option("--pin", metavar="LABEL", type=text, help="with --budget: keep everything up to this mark"),
            option(
                "--open",
                choices=("close", "refuse"),
                help="tool calls without a result: close them with a placeholder, or refuse",
            ),
            option(
                "--cache",
                choices=("5m", "1h"),
                help="place cache breakpoints if the provider wants them, unless the body has its own",
            ),
            _DIALECT,
            _ONLY_TOOLS,
            option("--after", metavar="FILE", help="report whether the body extends the one of this earlier --report"),
            option("--report", metavar="FILE", help="write everything except the body to FILE, as JSON"),
        ),
        notes="Only the body goes to stdout. What had to be changed is listed on stderr; at a\n"
        "terminal, only what is new since the last message. --report has all of it.",
    ),
    Command(
        "ingest",
        "[NAME] [FILE]",
        "add a provider's response and its token usage",
        "ingest",
        "reel ingest demo --format anthropic response.json\n"
        "  curl -sN ... | reel ingest demo --format openai-chat --stream",
        (
            _FORMAT,
            option("--stream", action="store_true", help="read an event stream and print its text as it arrives"),
            option(
                "--model", metavar="NAME", type=text, help="model that was asked for (default: that of the last render)"
            ),
            option("--names", metavar="FILE", help="the --report of the render, if it renamed tools"),
            option(
                "--interrupted", action="store_true", help="the response is incomplete (with --stream this is detected)"
            ),
            option(
                "--kept",
                action="store_true",
                help="add the answer that the log keeps at SEQ, in place of FILE",
            ),
            IF_STANDS,
            CREATE,
        ),
        writes=True,
        notes='FILE is read from stdin if it is "-" or omitted. If a stream breaks off, what\n'
        "has arrived is added and marked as interrupted, and the exit status is 1.",
    ),
    Command(
        "load",
        "[NAME] [FILE]",
        "add the history of a provider's request",
        "load",
        "reel load demo --create --format openai-chat request.json",
        (
            _ANY_FORMAT,
            option("--model", metavar="NAME", type=text, help="model that answered, if the body does not name it"),
            CREATE,
        ),
        writes=True,
        notes='FILE is read from stdin if it is "-" or omitted.',
    ),
)
