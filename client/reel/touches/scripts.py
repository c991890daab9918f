"""What a script certainly calls: Codex's tool ``exec`` runs JavaScript, in which each other tool is a function.

A script is read from its beginning up to where it may branch: what stands before that was carried out, in this order.
The arguments of a call have to be literals, or constants that are texts. What is not plain is passed over.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from reel.base.light_typing import NamedTuple

# Two groups have a last branch that never matches: up to Python 3.11.4, what that had matched when it failed counts.
_TOKEN = re.compile(
    r"""(?P<gap>\s++|//[^\n]*+|/\*(?:[^*]|\*(?!/)|(?!))*+\*/)
    |(?P<text>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\$]|\\.|\$(?!\{)|(?!))*+`)
    |(?P<number>-?\d[\d_]*+(?:\.\d++)?)
    |(?P<name>[A-Za-z_$][\w$]*+)
    |(?P<sign>=>|&&|\|\||\?\?|.)""",
    re.VERBOSE | re.DOTALL,
)
# What may keep that which follows from being carried out, or carry it out later.
_BRANCHES = frozenset(
    {
        *("if", "for", "while", "do", "switch", "try", "function", "class", "async", "return", "throw", "yield"),
        *("break", "continue", "exit", "eval", "=>", "&&", "||", "??", "?", "/", "`"),
    }
)
_CONSTANTS = {"true": True, "false": False, "null": None, "undefined": None}
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
# How deep a literal may be.
_LEVELS = 16


class Called(NamedTuple):
    """A call of a script: the name of the tool, and its argument: a text, or an object."""

    tool: str
    argument: Any


class _Unclear(Exception):
    """What a piece of the script stands for is not certain."""


class _Token(NamedTuple):
    kind: str
    text: str
    begins_line: bool = False


def called(script: str) -> list[Called]:
    """Return the calls that a script certainly makes, and that are done if it does not fail, in their order."""
    return list(_Script(list(_tokens(script))).calls())


def _tokens(script: str) -> Iterator[_Token]:
    """Yield the tokens up to the first that may be a branch."""
    begins_line, last = True, ""
    for found in _TOKEN.finditer(script):
        kind, text = str(found.lastgroup), found[0]
        if kind == "gap":
            begins_line = begins_line or "\n" in text
            continue
        if text in _BRANCHES or (text == "{" and last == ")"):
            return
        yield _Token(kind, text, begins_line)
        begins_line, last = False, text


class _Script:
    """Reads tokens.

    Args:
        tokens: those of the part that is certainly carried out.
    """

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        # The constants that are texts, and the names that may be something else in a block.
        self._texts: dict[str, str] = {}
        self._ambiguous = {name for name, times in Counter(_bound(tokens)).items() if times > 1}

    def calls(self) -> Iterator[Called]:
        """Yield the calls whose end the script awaits."""
        depth = 0
        # The depths of lists of calls that are awaited together.
        together: list[int] = []
        while self._at < len(self._tokens):
            at, text = self._at, self._tokens[self._at].text
            self._at += 1
            if self._has(at, "const", None, "="):
                self._note_constant(at)
            elif self._has(at, "await", "Promise", ".", "all", "(", "["):
                self._at, depth = at + 6, depth + 2
                if self._text(self._behind(at + 4)) != ".":  # it might be caught that one failed
                    together.append(depth)
            elif text == "tools":
                if not self._has(at, "tools", ".", None, "("):  # it may be another thing from now on
                    return
                last = self._text(at - 1)
                is_awaited = last == "await" or (together[-1:] == [depth] and last in ("[", ","))
                yield from self._call(at, is_awaited=is_awaited)
            elif text in ("(", "[", "{"):
                depth += 1
            elif text in (")", "]", "}"):
                together = [each for each in together if each < depth]
                depth -= 1

    def _call(self, at: int, *, is_awaited: bool) -> Iterator[Called]:
        """Yield the call that begins at a token, if its argument is plain; go on behind it."""
        self._at = at + 4
        try:
            argument = self._value(0)
            self._take(")")
        except _Unclear:
            self._at = at + 3  # with the parenthesis
            return
        if is_awaited and self._text(self._at) != ".":  # it might be caught that it failed
            yield Called(self._text(at + 2), argument)

    def _note_constant(self, at: int) -> None:
        """Read what a constant stands for; if it is no text, or goes on, go on behind the sign."""
        self._at = at + 3
        self._texts.pop(self._text(at + 1), None)
        try:
            value = self._value(0)
        except _Unclear:
            value = None
        following = self._tokens[self._at] if self._at < len(self._tokens) else _Token("sign", ";")
        ends = following.text == ";" or (following.begins_line and following.kind == "name")
        if isinstance(value, str) and ends and self._text(at + 1) not in self._ambiguous:
            self._texts[self._text(at + 1)] = value
        else:
            self._at = at + 3

    def _value(self, level: int) -> Any:
        """Read a value."""
        value = self._single(level)
        while isinstance(value, str) and self._text(self._at) == "+":
            self._at += 1
            other = self._single(level)
            if not isinstance(other, str):
                raise _Unclear
            value += other
        return value

    def _single(self, level: int) -> Any:
        if level > _LEVELS or self._at >= len(self._tokens):
            raise _Unclear
        kind, text, _ = self._tokens[self._at]
        self._at += 1
        if text == "String" and self._has(self._at, ".", "raw") and self._text(self._at + 2)[:1] == "`":
            self._at += 3
            return self._text(self._at - 1)[1:-1]
        if kind == "text":
            return _unescaped(text[1:-1])
        if kind == "number":
            return float(text.replace("_", ""))
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if kind == "name" and text in self._texts:
            return self._texts[text]
        if text == "[":
            return self._list(level)
        if text == "{":
            return self._object(level)
        raise _Unclear

    def _list(self, level: int) -> Any:
        """Read the rest of a list, and how its texts are joined, if they are."""
        found = []
        while self._text(self._at) != "]":
            found.append(self._value(level + 1))
            if self._text(self._at) != "]":
                self._take(",")
        self._at += 1
        if not self._has(self._at, ".", "join", "("):
            return found
        self._at += 3
        divider = self._value(level + 1)
        self._take(")")
        if not all(isinstance(each, str) for each in (divider, *found)):
            raise _Unclear
        return divider.join(found)

    def _object(self, level: int) -> dict[str, Any]:
        found = {}
        while self._text(self._at) != "}":
            if self._at >= len(self._tokens):
                raise _Unclear
            kind, text, _ = self._tokens[self._at]
            self._at += 1
            if kind not in ("name", "text"):
                raise _Unclear
            name = text if kind == "name" else _unescaped(text[1:-1])
            if kind == "name" and self._text(self._at) in (",", "}"):  # the constant of that name
                if text not in self._texts:
                    raise _Unclear
                found[name] = self._texts[text]
            else:
                self._take(":")
                found[name] = self._value(level + 1)
            if self._text(self._at) != "}":
                self._take(",")
        self._at += 1
        return found

    def _behind(self, at: int) -> int:
        """Return the place behind the bracket that closes the one at a place; the end if none does."""
        depth = 0
        for place in range(at, len(self._tokens)):
            depth += (self._tokens[place].text in ("(", "[", "{")) - (self._tokens[place].text in (")", "]", "}"))
            if depth == 0:
                return place + 1
        return len(self._tokens)

    def _text(self, at: int) -> str:
        return self._tokens[at].text if 0 <= at < len(self._tokens) else ""

    def _has(self, at: int, *texts: str | None) -> bool:
        """Return whether tokens with these texts begin at one; ``None`` is any name."""
        return at + len(texts) <= len(self._tokens) and all(
            token.kind == "name" if text is None else token.text == text
            for text, token in zip(texts, self._tokens[at : at + len(texts)], strict=True)
        )

    def _take(self, text: str) -> None:
        if self._text(self._at) != text:
            raise _Unclear
        self._at += 1


def _bound(tokens: Sequence[_Token]) -> Iterator[str]:
    """Yield each name where something is assigned to it, or where it is taken from an object or a list."""
    texts = ["", *(token.text for token in tokens), "", ""]
    for at, token in enumerate(tokens, 1):
        if token.kind != "name" or texts[at - 1] == ".":
            continue
        is_assigned = texts[at + 1] == "=" and texts[at + 2] != "="
        if is_assigned or texts[at - 1] in ("let", "var") or texts[at - 2] in ("let", "var", "const"):
            yield token.text


def _unescaped(text: str) -> str:
    """Return what a text between quotes stands for; half a character is replaced."""
    if "\\" not in text:
        return text
    whole = _ESCAPE.sub(_meant, text)
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _meant(escape: re.Match[str]) -> str:
    code = next((each for each in escape.groups()[:3] if each is not None), None)
    if code is not None:
        number = int(code, 16)
        return chr(number) if number <= sys.maxunicode else "\ufffd"
    return _LETTERS.get(escape[4], escape[4])
