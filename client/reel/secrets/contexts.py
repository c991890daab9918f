"""Secrets that are told by what stands around them: values of names, headers, addresses, and private keys."""

from __future__ import annotations

import re

from reel.base.light_typing import TYPE_CHECKING
from reel.secrets.examples import is_placeholder, is_random, kinds_of

if TYPE_CHECKING:
    from typing import TypeAlias

    # Where a secret begins and ends in a text.
    Span: TypeAlias = tuple[int, int]

# The names of secrets, by their last word. `key` alone is said of much else.
_LAST_WORDS = ("secret", "token", "password", "passwd", "passphrase", "pwd", "key", "credential", "auth")
# What such secrets are told by: a value follows its name, quotation marks, which may be escaped in JSON, and a sign, or
# it follows an option of a command.
SIGN = r"[:=](?<=[tndeyhlTNDEYHL\"'\\\] \t].)(?!/)[=>]?|--[a-z-]{3,40}+[ ]"
_BEFORE_VALUE = re.compile(r"[ \t]{0,4}+(?:\\{0,3}+[\"'`]|(?!))?+")
HEADER = r"[Bb](?:earer|asic)[ ]"
ADDRESS = "://"
PRIVATE_KEY = "-----BEGIN "

# What stands before the last word of a name.
_BEFORE_KEY = (
    r"(?:api|app|application|access|secret|private|auth|account|admin|encryption|signing|service|license|master|storage"
    r"|subscription|shared|consumer|deploy|webhook)[-_ ]?"
)
_SECRET_KEYS = re.compile(f"{_BEFORE_KEY}$")
# A token of these is a secret even if it is hexadecimal. Others may be that of a commit or of a request.
_SECRET_TOKENS = re.compile(r"(?:api|access|auth|bot|bearer|deploy|personal|refresh|secret)[-_ ]?$")
# Places in lists, what protects a form, and the words of a model: they may be random, but are nobody's secrets.
_NO_SECRETS = re.compile(
    r"(?:next|page|continuation|sync|cursor|cancel(?:lation)?|resume|csrf|xsrf|public|stop|eos|bos|pad|sep)"
    r"[-_ ]?$",
    re.IGNORECASE,
)
# How far before a sign a name is looked at.
_LONGEST_NAME = 40
# A value ends where the next name begins: so no character is looked at for two names, however many follow each other.
# Padding, as at the end of base64, has no value behind it.
_NAMES = rf"{'|'.join(word for word in _LAST_WORDS if word != 'key')}|{_BEFORE_KEY}key"
_NEXT_NAME = rf"(?i:{_NAMES})[:=]++(?=[A-Za-z0-9_\-./+~!@#%^*])"
_VALUE = re.compile(rf"(?:(?!{_NEXT_NAME})[A-Za-z0-9_\-./+=~:!@#%^*]|(?!)){{8,512}}+")
# A value that goes on so is an expression of a program.
_EXPRESSION = frozenset("([{$")
_LEAST = 16
_HEXADECIMAL = re.compile(r"(?:sha[0-9]+[-:])?(?:[0-9a-f-]+|[0-9A-F-]+)")
_CREDENTIALS = re.compile(r"[A-Za-z0-9_\-./+=~:]{16,4096}+")
# A password has this many kinds of characters, or is random and of this length: other values are words.
_KINDS = 3
_LEAST_RANDOM = 12
# RFC 3986, section 3.2.1. What is quoted or has braces was not filled in.
_USER = re.compile(
    r"[^\s:@/?#\"'`<>\[\]{}()$\\|,;]{0,100}+:([^\s@/?#\"'`<>\[\]{}$\\]{3,200}+)@(?=[A-Za-z0-9\[])",
)
_NO_PASSWORDS = frozenset(
    (
        "password",
        "passwd",
        "pass",
        "secret",
        "user",
        "pwd",
        "token",
        "xxx",
        "postgres",
        "root",
        "guest",
        "admin",
        "test",
    )
)
# RFC 7468; OpenSSH and PGP write the same lines. What is between them ends at the next five hyphens, or with the text.
_LABEL = r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PEM = re.compile(
    rf"-----BEGIN {_LABEL}((?:[A-Za-z0-9+/=\s\\:,.()]|-(?!----)|(?!)){{40,20000}}+)(?:-----END {_LABEL})?"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40}")


def private_key(text: str, at: int) -> Span | None:
    """Return where a private key is that begins at a position, with the lines around it."""
    found = _PEM.match(text, at)
    return None if found is None or not _BASE64.search(found[1]) else found.span()


def password_in_address(text: str, at: int) -> Span | None:
    """Return where the password is of an address whose ``://`` ends at a position."""
    found = _USER.match(text, at)
    if found is None:
        return None
    password, user = found[1], text[at : found.start(1) - 1]
    is_none = password == user or password.lower() in _NO_PASSWORDS or password[0] in "%*:"
    return None if is_none or is_placeholder(password, different=1) else found.span(1)


def in_header(text: str, at: int) -> Span | None:
    """Return where the credentials are of a header whose scheme ends at a position."""
    found = _CREDENTIALS.match(text, at)
    return None if found is None or not is_random(found[0]) or is_placeholder(found[0]) else found.span()


def value_of(text: str, sign: int, end: int) -> Span | None:
    """Return where the value of a secret is whose name is followed by the sign at a position."""
    name = text[max(sign - _LONGEST_NAME, 0) : sign].rstrip(" \t").rstrip("\"'\\]")
    last = next((word for word in _LAST_WORDS if name.lower().endswith(word)), None)
    if last is None:
        return None
    before = name[: -len(last)].lower()
    if _NO_SECRETS.search(before) or (last == "key" and not _SECRET_KEYS.search(before)):
        return None
    begins = _BEFORE_VALUE.match(text, end)
    at = end if begins is None else begins.end()
    until = end_of_value(text, at)
    if until == at or text[until : until + 1] in _EXPRESSION:
        return None
    value = text[at:until].rstrip(".:!")
    if last.startswith(("pass", "pwd")):
        is_secret = _is_password(value)
    else:
        is_told = last != "token" or name.endswith("TOKEN") or _SECRET_TOKENS.search(before) is not None
        is_secret = len(value) >= _LEAST and is_random(value) and (is_told or not _HEXADECIMAL.fullmatch(value))
    return (at, at + len(value)) if is_secret and not is_placeholder(value) else None


def end_of_value(text: str, at: int) -> int:
    """Return where a value ends that may be a secret; where it begins, if it is too short for one."""
    found = _VALUE.match(text, at)
    return at if found is None else found.end()


def _is_password(value: str) -> bool:
    """Return whether a value is a password, rather than a word or an expression."""
    if re.search(r"[.:/]", value):
        return False
    is_mixed = len(kinds_of(value)) >= _KINDS and any(map(str.isdigit, value))
    return is_mixed or (len(value) >= _LEAST_RANDOM and is_random(value))
