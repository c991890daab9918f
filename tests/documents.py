"""The parts of ``docs/`` that are generated from the code.

``make docs`` writes it between the marks where it belongs; a test holds that it has been.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

from reel import requests
from reel.cli.line.command import Command
from reel.cli.line.parser import examples_of, sentence, usage_of
from reel.cli.line.table import GROUPS
from reel.replies import AgentInfo
from reel.requests.calls import annotation_names
from reel.stats.metrics import COUNTER, INFO, METRICS
from reeld import config
from reeld.serving.methods import METHODS, Method
from tests import reference

DOCS = Path(__file__).parent.parent / "docs"
# The parameters and replies of every command of the protocol.
_TAKEN = {"if_seq?", "key?"}
_ANSWERED = {"agent", "head", "command", "time", "repeated"}
# What only `add` replies of a type that it shares with `ingest`.
_OF_ADD = {"ingest": {"dropped", "was", "known"}}
# What methods reply if they are about items or about lines, for which the clients have requests of their own, or none.
_OF_ITEMS = {"add": ("seqs?",), "messages": ("lines?", "folds?", "headings?", "marks?", "items?")}
# The replies for which the clients have no type.
_OTHERS = {
    "ping": "`pong`",
    "methods": "`methods`",
    "facts": "`agent` `name` `lines`",
    "hits": "`hits` `lines` `more` `behind` `next?` `instead?` `partial?`",
    "answer": "`agent` `head` `seq` `text` `language`",
    "call_async": "the push `reply`",
    "stats": "counters and sizes",
}


def methods() -> Iterator[str]:
    """Make the table of the protocol's methods."""
    yield "| method | parameters | answers | |"
    yield "|---|---|---|---|"
    for method in METHODS.values():
        params = _codes(param for param in method.signature.shown() if param not in _TAKEN)
        yield _row(f"`{method.name}`", params, _OTHERS.get(method.name) or _answers(method), method.summary)


def _answers(method: Method) -> str:
    """Return what a method replies, in the clients' types."""
    request = getattr(requests, method.name, None)
    (reply,) = get_args(get_type_hints(request, localns=annotation_names())["return"]) if request else (None,)
    if reply is AgentInfo and method.name != "agent":
        return "the agent"
    fields: tuple[str, ...] = getattr(reply, "_fields", ())
    optional: dict[str, Any] = getattr(reply, "_field_defaults", {})
    passed = _ANSWERED if method.is_command else {"command", "time", "repeated"}
    passed = passed | _OF_ADD.get(method.name, set())
    own = [f"{field}{'?' if field in optional else ''}" for field in fields if field not in passed]
    return _codes(iter([*own, *_OF_ITEMS.get(method.name, ())]))


def commands() -> Iterator[str]:
    """Make the sections of the commands."""
    for group in GROUPS:
        yield from ("", f"### {sentence(group.title).removesuffix('.')}")
        for command in group.commands:
            yield from _command(command)


def _command(command: Command) -> Iterator[str]:
    yield from ("", f"#### {command.name}", "")
    notes = f" {' '.join(command.notes.split())}" if command.notes else ""
    yield f"`{f'reel {command.name} {command.positionals}'.rstrip()}`: {sentence(command.summary)}{notes}"
    if command.options:
        yield from ("", "| option | |", "|---|---|")
        yield from (_row(f"`{usage_of(option)}`", option[1]["help"]) for option in command.options)
    yield from ("", "```sh", *examples_of(command), "```")


def settings() -> Iterator[str]:
    """Make the table of the daemon's settings."""
    yield "| setting | default | means |"
    yield "|---|---|---|"
    for setting in config.SETTINGS:
        choices = f": {', '.join(f'`{choice}`' for choice in setting.choices)}" if setting.choices else ""
        yield _row(f"`{setting.name}`", _default(setting.name), f"{setting.help}{choices}")


def _default(name: str) -> str:
    default = config._defaults()[name]
    return "a path" if name in ("socket", "database") else f"`{default}`" if default is not None else "not set"


def _codes(words: Iterator[str]) -> str:
    return " ".join(f"`{word}`" for word in words)


def _row(*cells: str) -> str:
    return "|" + "".join(f" {escaped} |" if (escaped := cell.replace("|", "\\|")) else " |" for cell in cells)


def blocks(page: str, heading: str, language: str) -> list[str]:
    """Return the blocks in a language under a heading of a page, up to the next heading."""
    text = (DOCS / page).read_text().partition(f"\n{heading}\n")[2]
    section = re.split(r"^#+ ", text, maxsplit=1, flags=re.MULTILINE)[0]
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    return found


def metrics() -> Iterator[str]:
    """Make the table of the metrics."""
    yield "| metric | type | unit | |"
    yield "|---|---|---|---|"
    for metric in METRICS:
        suffix = {COUNTER: "_total", INFO: "_info"}.get(metric.kind, "")
        label = f"{{{metric.label}}}" if metric.label else ""
        yield _row(f"`{metric.family}{suffix}{label}`", metric.kind, metric.unit, metric.help)


PARTS: dict[str, dict[str, Callable[[], Iterator[str]]]] = {
    "protocol.md": {"methods": methods},
    "cli.md": {"commands": commands},
    "python-reference.md": {
        "functions": reference.functions,
        "classes": reference.classes,
        "client": reference.client,
        "answer": reference.answer,
        "said": reference.said,
        "replies": reference.reply_types,
        "errors": reference.error_types,
    },
    "operations.md": {"settings": settings, "metrics": metrics},
}


def current(page: str) -> str:
    """Return a page with its generated parts."""
    text = (DOCS / page).read_text()
    for name, lines in PARTS[page].items():
        text = _renewed(page, text, name, lines)
    return text


def _renewed(page: str, text: str, name: str, lines: Callable[[], Iterator[str]]) -> str:
    marks = rf"(<!-- {name}: written by make docs -->\n).*(<!-- end of {name} -->)"
    made = "\n".join([*lines(), "", ""])
    renewed, count = re.subn(marks, lambda found: f"{found[1]}{made}{found[2]}", text, flags=re.DOTALL)
    assert 1 == count, f"{page} has no marks for its {name}"
    return renewed


if __name__ == "__main__":
    for page in PARTS:
        (DOCS / page).write_text(current(page))
