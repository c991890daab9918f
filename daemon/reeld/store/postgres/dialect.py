"""Translates the SQL of the jobs for PostgreSQL and psycopg, and texts for PostgreSQL's storage."""

import re
from functools import lru_cache

# The constructs that differ from SQLite.
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
    (re.compile(r"\bgroup_concat\("), "string_agg("),
    # SQLite compares letters of ASCII in either case.
    (re.compile(r"\bLIKE\b"), "ILIKE"),
    (re.compile(r"\bIN \(\)"), "IN (NULL)"),
    (re.compile(r"length\(CAST\((.*?) AS BLOB\)\)"), r"octet_length(\1)"),
)
# A literal, a numbered or named parameter, or a character that psycopg would take for the start of one.
_TOKENS = re.compile(r"'[^']*'|\?|(?<!:):(\w+)|%")


@lru_cache(maxsize=1024)
def translated(sql: str) -> str:
    """Translate a statement of the jobs for psycopg."""
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


# PostgreSQL cannot store NUL. A text without either character is stored unchanged; escaping preserves the order of
# texts.
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
