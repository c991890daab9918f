"""Parses what a person types into a query. No input is an error.

========================  ==============================================================
``word other``            both words; of the best hits, some may lack one
``+word``                 this word, in the best hits as well
``"a phrase"``            these words in sequence
``-word``                 not this word
``one OR other``          at least one of them
``prefix*``               a word with this prefix
``role:tool``             said by the user, the assistant, a tool, or the system prompt
``agent:NAME``            of this agent
``tag:KEY=VALUE``         of agents with this tag; ``tag:KEY`` with any value of it
``before:2026-11-01``     earlier than this day or time, of the daemon's time zone
``after:yesterday``       on this day or later, or at this time or later; :mod:`reel.reading.moments` has what is a time
``live:no``               not in the current conversation; ``live:yes`` in it
``in:/a/directory``       of agents that were begun there or below; several are alternatives
``file:PATH``             of agents that read or wrote this file: its whole path, or the last parts of it
``has:TEXT``              with this text, letter by letter but for case: a part of a word, ``has:"a + b"``
``/EXPRESSION/``          with a match of this regular expression; :mod:`reeld.search.patterns`
========================  ==============================================================

A filter with an invalid value is treated as text. A query that consists of ``-words`` only searches for these words:
people look for options such as ``-rf``.

A query for agents (:func:`label_filter`) has no syntax: each word must be part of a name, title or tag.
"""

import re
import time
from collections.abc import Callable, Iterable

from reel.base.light_typing import NamedTuple
from reel.reading.moments import moment
from reeld.protocol.converters import SEARCHED_ROLES
from reeld.search.words import alternatives, fold, words

# Words of a query; the rest is ignored. FTS5 accepts expressions up to 256 levels deep.
MAX_WORDS = 64
# With a shorter prefix, a query would have to read a large part of the index.
MIN_PREFIX = 2
# Prefixes of a query; later ones are whole words. For each, FTS5 reads all words of a volume that begin with it:
# 10 ms for two letters, which blocks everything else.
MAX_PREFIXES = 5
# Patterns of a query; the rest is ignored.
MAX_PATTERNS = 8
_LIVE = {"yes": True, "true": True, "no": False, "false": False}
_LEXEME = re.compile(
    r"""
    (?<!\S)(?P<no>-?)/(?P<regex>(?:[^/\\\n]|\\.)+)/(?!\S)
    | (?P<sign>-(?!-)|\+)?(?:(?P<field>role|agent|tag|before|after|live|in|file|has):)?
      (?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Characters of a query for agents that are used; no title is longer.
MAX_QUERY = 1024
# How many pieces are checked before anything else.
_PIECES = 8
# What is stored differently: the sign between the key and the value of a tag, and what JSON escapes.
_NOT_STORED = re.compile(r'[="\\\x00-\x1f]')


class Term(NamedTuple):
    """What a text must contain: one of several phrases, whose last word may be a prefix.

    ``is_exact`` says that the best hits have it too, and as it is: it was typed in quotes or with a plus. ``typed`` is
    what somebody typed.
    """

    phrases: tuple[tuple[str, ...], ...]
    is_prefix: bool = False
    is_exact: bool = False
    typed: str = ""


class Filters(NamedTuple):
    """Which events are searched; an empty field or ``None`` excludes nothing. Times are milliseconds."""

    agent: str | None = None
    tags: tuple[tuple[str, str | None], ...] = ()
    roles: tuple[str, ...] = ()
    live: bool | None = None
    since: int | None = None
    until: int | None = None
    dirs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class TypedPattern(NamedTuple):
    """A regular expression, or a piece of text, that a text must have or must not; ``at`` is its place in the query."""

    text: str
    at: int
    is_regex: bool = False
    is_excluded: bool = False


class Query(NamedTuple):
    """A query: a text must contain a term of each group, no excluded term, and all patterns."""

    groups: tuple[tuple[Term, ...], ...] = ()
    excluded: tuple[Term, ...] = ()
    filters: Filters = Filters()
    patterns: tuple[TypedPattern, ...] = ()

    @property
    def terms(self) -> list[Term]:
        """All terms that a text may contain."""
        return [term for group in self.groups for term in group]


def parse_query(text: str) -> Query:
    """Parse what a person typed."""
    groups: list[list[Term]] = []
    excluded: list[Term] = []
    patterns: list[TypedPattern] = []
    filters = Filters()
    joins, room, prefixes = False, MAX_WORDS, MAX_PREFIXES
    for lexeme in _LEXEME.finditer(text):
        if lexeme[0] == "OR":
            joins = bool(groups)
            continue
        if (pattern := _typed_pattern(lexeme)) is not None:
            if len(patterns) < MAX_PATTERNS:
                patterns.append(pattern)
            continue
        value = lexeme["word"] if lexeme["phrase"] is None else lexeme["phrase"]
        if lexeme["field"] and not lexeme["sign"] and (more := _filtered(filters, lexeme["field"].lower(), value)):
            filters = more
            continue
        term = _term(lexeme)
        if term is None:
            continue
        room -= sum(map(len, term.phrases))
        if room < 0:
            break
        if term.is_prefix:
            term, prefixes = term._replace(is_prefix=prefixes > 0), prefixes - 1
        if lexeme["sign"] == "-":
            excluded.append(term)
        elif joins:
            groups[-1].append(term)
        else:
            groups.append([term])
        joins = False
    if not groups and not patterns:
        groups, excluded = [[term] for term in excluded], []
    return Query(tuple(map(tuple, groups)), tuple(excluded), filters, tuple(patterns))


def _typed_pattern(lexeme: re.Match[str]) -> TypedPattern | None:
    if lexeme["regex"] is not None:
        return TypedPattern(lexeme["regex"], lexeme.start("regex"), is_regex=True, is_excluded=bool(lexeme["no"]))
    which = "word" if lexeme["phrase"] is None else "phrase"
    if (lexeme["field"] or "").lower() == "has" and lexeme[which]:
        return TypedPattern(lexeme[which], lexeme.start(which), is_excluded=lexeme["sign"] == "-")
    return None


def _term(lexeme: re.Match[str]) -> Term | None:
    field = f"{lexeme['field']} " if lexeme["field"] else ""
    if lexeme["phrase"] is not None:
        phrase = tuple(words(field + lexeme["phrase"])[:MAX_WORDS])
        return Term((phrase,), is_exact=True, typed=field + lexeme["phrase"]) if phrase else None
    word = field + lexeme["word"]
    phrases = tuple(phrase[: MAX_WORDS // 2] for phrase in alternatives(word))
    if not phrases:
        return None
    is_prefix = word.endswith("*") and len(phrases[0][-1]) >= MIN_PREFIX
    return Term(phrases, is_prefix, lexeme["sign"] == "+", word)


def _filtered(filters: Filters, field: str, value: str) -> Filters | None:
    """Return filters with one more; ``None`` if the value is invalid."""
    if field == "agent" and value:
        return filters._replace(agent=value)
    if field == "tag" and value:
        key, is_pair, tag = value.partition("=")
        return filters._replace(tags=(*filters.tags, (key, tag if is_pair else None))) if key else None
    if field == "role" and value.lower() in SEARCHED_ROLES:
        return filters._replace(roles=(*filters.roles, value.lower()))
    if field == "live" and value.lower() in _LIVE:
        return filters._replace(live=_LIVE[value.lower()])
    if field in ("before", "after") and (when := moment(value, time.time())) is not None:
        return filters._replace(until=when) if field == "before" else filters._replace(since=when)
    if field == "in" and value.startswith("/"):
        return filters._replace(dirs=(*filters.dirs, value))
    if field == "file" and value:
        return filters._replace(files=(*filters.files, value))
    return None


def match_expression(query: Query, required: Iterable[Iterable[str]] = ()) -> str | None:
    """Return a query for events with all words in FTS5 syntax; ``None`` if every event matches.

    Args:
        query: the query.
        required: groups of generated words that mark events; an event must have one of each group.
    """
    groups = [any_of(group) for group in query.groups]
    groups += [" OR ".join(f'"{word}"' for word in group) for group in required]
    if not groups:
        return None
    wanted = " AND ".join(f"({group})" for group in groups)
    return f"({wanted}) NOT ({any_of(query.excluded)})" if query.excluded else wanted


def both(one: str, other: str | None) -> str:
    """Return an expression of FTS5 for events that match two of them; the second may be missing."""
    return one if other is None else f"({one}) AND ({other})"


def any_of(terms: Iterable[Term]) -> str:
    """Return an expression of FTS5 for events with one of several terms."""
    return " OR ".join(map(_quoted, terms))


def _quoted(term: Term) -> str:
    star = " *" if term.is_prefix else ""
    return " OR ".join(f'"{" ".join(phrase)}"{star}' for phrase in term.phrases)


class LabelFilter(NamedTuple):
    """A query for agents.

    Args:
        accepts: returns whether the labels of an agent have every word.
        pieces: lower-case ASCII texts. The stored labels of every accepted agent contain all of them, if the labels are
            ASCII.
    """

    accepts: Callable[[str], bool]
    pieces: tuple[str, ...]


def label_filter(query: str) -> LabelFilter:
    """Return a filter for agents whose labels have every word of a query.

    A word matches anywhere, regardless of case and accents: at the end of a name, or in the middle of a Chinese title.
    """
    wanted = [fold(word) for word in query[:MAX_QUERY].split()]

    def has_all(labels: str) -> bool:
        folded = fold(labels)
        return all(word in folded for word in wanted)

    pieces = {piece for word in wanted for piece in _NOT_STORED.split(word) if piece}
    return LabelFilter(has_all, tuple(sorted(pieces, key=len, reverse=True)[:_PIECES]))
