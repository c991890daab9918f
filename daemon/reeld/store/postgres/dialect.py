"""The SQL of the jobs as PostgreSQL and psycopg want it, and texts as PostgreSQL can store them."""

import re
from functools import lru_cache

# What SQLite says otherwise.
_RULES = (
    # The search index attaches the log's file under this name.
    (re.compile(r"\blog\."), ""),
    # There is one kind of transaction.
    (re.compile(r"BEGIN IMMEDIATE"), "BEGIN"),
    # The list as one parameter is an array.
    (re.compile(r"json_each\((\?|:\w+)\)"), r"unnest(\1) AS listed (value)"),
    # In SQLite it fixes the order of the tables.
    (re.compile(r"CROSS JOIN"), "JOIN"),
    (re.compile(r"\binstr\("), "strpos("),
    (re.compile(r"\bIN \(\)"), "IN (NULL)"),
    (re.compile(r"length\(CAST\((.*?) AS BLOB\)\)"), r"octet_length(\1)"),
)
# A literal, a parameter with a number or a name, or what psycopg takes for the beginning of one.
_TOKENS = re.compile(r"'[^']*'|\?|(?<!:):(\w+)|%")


@lru_cache(maxsize=1024)
def translated(sql: str) -> str:
    """Return a statement of the jobs as psycopg wants it."""
    for pattern, replacement in _RULES:
        sql = pattern.sub(replacement, sql)
    return _TOKENS.sub(_token, sql)


def _token(found: re.Match[str]) -> str:
    text = found[0]
    if text == "?":
        return "%s"
    return f"%({found[1]})s" if found[1] else text.replace("%", "%%")


_QUERY = re.compile(r"\s*(?:SELECT|WITH)\b")
_CHANGE = re.compile(r"\b(?:UPDATE|INSERT|DELETE)\b")


@lru_cache(maxsize=1024)
def only_reads(sql: str) -> bool:
    """Return whether a statement of the jobs returns rows and changes nothing."""
    return _QUERY.match(sql) is not None and _CHANGE.search(sql) is None


# PostgreSQL stores no NUL. A text with neither of the two is stored as it is; the order of texts stays what it is.
def escaped(text: str) -> str:
    """Return a text as it is stored."""
    if "\x00" in text or "\x01" in text:
        return text.replace("\x01", "\x011").replace("\x00", "\x010")
    return text


def unescaped(stored: str) -> str:
    """Return the text that is stored."""
    if "\x01" in stored:
        return stored.replace("\x010", "\x00").replace("\x011", "\x01")
    return stored
