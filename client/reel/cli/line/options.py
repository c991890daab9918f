"""The options of all commands, with their types: a command that has not one of them has its default."""

from __future__ import annotations

from types import SimpleNamespace

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    from reel.reading.positions import FromEnd
    from reel.said.formats import Dialect


class Options(SimpleNamespace):
    """What was given on the command line; ``tests/reel/cli/line/test_parser.py`` compares it with the tables."""

    # The command's name, what comes after that, and the positional arguments in it.
    command: str = ""
    rest: list[str]
    words: list[str]

    add: bool = False
    after: str | None = None
    agent: str | None = None
    all: bool = False
    asks_for_title: bool = False
    at: int | None = None
    attach: list[str] | None = None
    backup: list[str] | None = None
    begin: int | FromEnd | None = None
    best: bool = False
    block: int | None = None
    brief: bool = False
    budget: int | None = None
    by: str | None = None
    cache: Literal["5m", "1h", "off"] | None = None
    cascade: bool = False
    code: bool = False
    color: str | None = None
    context: int | None = None
    conversations: bool = False
    cost: bool = False
    create: bool = False
    database: str | None = None
    deed: Literal["read", "wrote", "ran"] | None = None
    dialect: Dialect | None = None
    directory: str | None = None
    dry_run: bool = False
    erase: str | None = None
    error: bool = False
    every: float | None = None
    everywhere: bool = False
    exec: str | None = None
    file: str | None = None
    force: bool = False
    format: str | None = None
    full: bool = False
    hook: bool = False
    if_seq: int | None = None
    keep_last: int | None = None
    before: str | None = None
    if_stands: int | None = None
    importing: bool = False
    inherited: bool = False
    install: bool = False
    interrupted: bool = False
    into: str | None = None
    json: bool = False
    keep: int | None = None
    kept: bool = False
    key: str | None = None
    kind: list[str] | None = None
    last: int | None = None
    last_answer: bool = False
    limit: int | None = None
    listed: bool = False
    marks: bool = False
    match: str | None = None
    model: str | None = None
    names: str | None = None
    newest: bool = False
    no_browser: bool = False
    no_import: bool = False
    no_pager: bool = False
    no_start: bool = False
    no_stdin: bool = False
    note: str | None = None
    now: bool = False
    once: bool = False
    only_tools: str | None = None
    open: Literal["close", "refuse"] | None = None
    output: str | None = None
    path: bool = False
    pin: str | None = None
    port: int | None = None
    prefix: str | None = None
    reason: str | None = None
    records: bool = False
    redact: bool = False
    remove: bool = False
    replace: bool = False
    report: str | None = None
    restore_purged: bool = False
    retention: bool = False
    role: Literal["user", "assistant", "system"] | None = None
    schema: str | None = None
    seq: list[int] | None = None
    set: list[str] | None = None
    show_secrets: bool = False
    since: int | None = None
    socket: str | None = None
    sort: str | None = None
    source: str | None = None
    stream: bool = False
    strict: bool = False
    system: str | None = None
    tag: list[str] | None = None
    target: str | None = None
    template: str | None = None
    text: str | None = None
    texts_only: bool = False
    time_limit: float | None = None
    timeout: float | None = None
    title: str | None = None
    to: str | None = None
    tool_call: list[list[str]] | None = None
    tool_result: list[str] | None = None
    tools: str | None = None
    tree: bool = False
    uninstall: bool = False
    turn: bool = False
    unless_stopped: bool = False
    url: str | None = None
    verify: bool = False
    via: str | None = None
    watch: bool = False
    with_hooks: bool = False
    without: list[str] | None = None
    with_file: list[str] | None = None
    write: bool = False
    yes: bool = False
