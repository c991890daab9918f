"""What a command in a shell certainly writes, as its text says: the bodies of here-documents.

``apply_patch <<'EOF'`` writes what its patch says, ``cat > PATH <<'EOF'`` the body. If the shell replaces something in
the body or in the path, it is not known what was written.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from reel.base.light_typing import NamedTuple
from reel.touches.patches import patched
from reel.touches.touch import Touch

_BEGIN = re.compile(r"(?<!<)<<(?!<)(?P<tabs>-?)\s*(?P<quote>['\"\\]?)(?P<word>[A-Za-z_][\w.]*)['\"]?")
# Each repetition is possessive: anybody may write a long command, on which backtracking would take too long.
_PATCH = re.compile(r"(?:^|&&|;)\s*+(?:apply_patch|applypatch)\s*+$")
# A directory that a line goes to before anything else; and any other way to go to one.
_CHANGED = re.compile(r"^\s*+cd\s++(?P<directory>[^&|;<>]++)(?:&&|$)")
_MOVES = re.compile(r"\b(?:cd|pushd|popd|chroot)\b")
_COPY = re.compile(r"(?:^|&&|;)\s*+(?:cat\b|(?P<tee>(?:sudo\s++)?tee\b(?P<more>\s++-a\b)?))(?P<rest>[^&|;]*+)$")
_REDIRECTED = re.compile(r"(?P<sign>>>?)\s*+(?P<path>'[^']+'|\"[^\"]+\"|[^\s'\"<>]++)")
# What may keep lines from being run; from there on, nothing is certain.
_CONDITION = re.compile(
    r"^\s*+(?:if|elif|else|for|while|until|case|select|function)\b|\(\)\s*+\{?\s*+$|\{\s*+$", re.MULTILINE
)
_QUOTES = re.compile(r"\\.|['\"]", re.DOTALL)
PATCHES = ("apply_patch", "applypatch")
# What a shell replaces in a body or in double quotes, and in a word without quotes.
_REPLACED = re.compile(r"[$`\\]")
_MADE_UP = re.compile(r"[$`*?\[{~]")


class _Document(NamedTuple):
    """A here-document: what is before and after its operator, its body, and its directory; ``None`` if unknown."""

    before: str
    after: str
    body: str
    is_literal: bool
    directory: str | None


def written(command: str) -> Iterator[Touch]:
    """Yield what a command writes to files, in its order."""
    name, _, argument = command.strip().partition(" ")
    if name in PATCHES and argument[:1] in ("'", '"') and argument[-1] == argument[0]:
        yield from patched(argument[1:-1])
        return
    for document in _documents(command):
        for touch in _of(document):
            if document.directory is not None or touch.path.startswith("/"):
                yield below(document.directory or "", touch)


def below(directory: str, touch: Touch) -> Touch:
    """Return a touch with its path below a directory, unless the path is absolute."""
    if not directory or touch.path.startswith(("/", "~")):
        return touch
    return replace(touch, path=f"{directory.rstrip('/')}/{touch.path}")


def _of(document: _Document) -> list[Touch]:
    if _PATCH.search(document.before):
        return patched(document.body) if document.is_literal or not _REPLACED.search(document.body) else []
    copy = _COPY.search(document.before)
    if copy is None or not document.is_literal:
        return []
    places = [(each["sign"], each["path"]) for each in _REDIRECTED.finditer(f"{copy['rest']} {document.after}")]
    if copy["tee"]:
        places = [(">>" if copy["more"] else ">", word) for word in copy["rest"].split()]
    return [
        Touch("wrote", _plain(path), after=document.body, whole=sign == ">")
        for sign, path in places
        if not _is_made_up(path) and path not in ("/dev/null", "/dev/stdout", "/dev/stderr")
    ]


def _is_made_up(word: str) -> bool:
    """Return whether a shell may replace something in a word."""
    if word.startswith("'"):
        return False
    return (_REPLACED if word.startswith('"') else _MADE_UP).search(word) is not None


def _gone_to(line: str, directory: str | None) -> str | None:
    """Return the directory of the shell after a line; ``None`` if that is not certain."""
    changed = _CHANGED.match(line)
    if _MOVES.search(line[changed.end() :] if changed else line) or directory is None:
        return None
    if changed is None:
        return directory
    word = changed["directory"].strip()
    return None if _is_made_up(word) else below(directory, Touch("ran", _plain(word))).path


def _plain(word: str) -> str:
    try:
        return (shlex.split(word) or [""])[0]
    except ValueError:
        return word


def _documents(command: str) -> Iterator[_Document]:
    """Yield the here-documents of the shell itself, not those in quotes, which another shell may get."""
    lines = command.split("\n")
    number, quote = 0, ""
    directory: str | None = ""
    while number < len(lines):
        line = lines[number]
        number += 1
        begin = _BEGIN.search(line)
        opened = _quote_after(line if begin is None else line[: begin.start()], quote)
        if _CONDITION.search(line) or (begin and _BEGIN.search(line, begin.end())):
            return
        directory = _gone_to(line, directory)
        if begin is None or opened:
            quote = _quote_after(line, quote)
            continue
        body: list[str] = []
        while number < len(lines):
            found = lines[number].lstrip("\t") if begin["tabs"] else lines[number]
            number += 1
            if found == begin["word"]:
                text = "".join(f"{each}\n" for each in body)
                yield _Document(line[: begin.start()], line[begin.end() :], text, bool(begin["quote"]), directory)
                break
            body.append(found)


def _quote_after(text: str, quote: str) -> str:
    """Return the quotation mark that is still open after a text; empty if all are closed."""
    for mark in _QUOTES.findall(text):
        if not quote and len(mark) == 1:
            quote = mark
        elif mark in (quote, f"\\{quote}" if quote == "'" else quote):  # nothing escapes a single quote
            quote = ""
    return quote
