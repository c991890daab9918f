"""What a query looks for: its words in the forms that the index has, by rarity, and which of them find and which order.

The rarest words find the events. A more frequent one only says which of these come first, and one in more than a
twentieth of all events not even that: it would take most of the time, and hardly change a page.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress
from math import log

from reel.base.light_typing import NamedTuple
from reeld.search import vocabulary
from reeld.search.marks import Form
from reeld.search.query import Query, Term, any_of, both
from reeld.search.snippets import Wanted
from reeld.search.stop_words import STOP_WORDS
from reeld.search.words import is_single

# The most words of a query that are searched.
_MOST = 16
# How many events are ranked: to rank one takes 2 us.
MOST_EVENTS = 1 << 12
# Beside the two rarest, a word that more than one in so many events has does not say which hits come first.
_COMMON = 20
_ALWAYS_RANKED = 2
# A word that fewer events have also stands for others with the same beginning, less so many letters: an inflection.
_RARE = 5
_ENDING = 2
_SHORTEST_BEGINNING = 4
# Only of so many words is it guessed what else they may be: to look for one in a large vocabulary takes 10 ms.
_GUESSED = 12


class Sought(NamedTuple):
    """What makes an event a hit: any of several forms.

    Args:
        typed: which of the typed terms it is of.
        forms: its forms.
        events: how many events have it, or more.
        is_part: whether it is only a part of a typed word.
    """

    typed: int
    forms: tuple[Form, ...]
    events: int
    is_part: bool = False


class Part(NamedTuple):
    """Some of the events that are found.

    Args:
        ordering: an expression of FTS5 for each thing that says their order.
        only: one for them; ``None`` for all that have what finds, or what says the order if they are frequent.
        is_frequent: whether they are frequent, so that only the newest are ranked.
    """

    ordering: Sequence[str]
    only: str | None = None
    is_frequent: bool = False

    def about(self, about: str | None) -> "Part":
        """Return the events of this part that an expression finds too; all if there is none."""
        ordering = [both(expression, about) for expression in self.ordering]
        return self._replace(ordering=ordering, only=self.only and both(self.only, about))


class Plan(NamedTuple):
    """How the best hits are found.

    Args:
        finding: what finds events, the rarest first.
        ordering: what else counts for the events that are found.
        common: what so many events have that it does not count.
        rarities: of all three, in this order.
        typed: the terms as they were typed.
        unknown: the terms that no event has, nor anything like them.
        instead: what is searched for instead of typed words that no event has.
        required: an expression of FTS5 for what every hit has.
        excluded: one for what no hit has.
        events: how many events there are.
        usual: how many words an event has on average.
    """

    finding: Sequence[Sought]
    ordering: Sequence[Sought]
    common: Sequence[Sought]
    rarities: Sequence[float]
    typed: Sequence[str]
    unknown: frozenset[int]
    instead: dict[str, list[str]]
    required: str | None
    excluded: str | None
    events: int
    usual: float

    @property
    def ranking(self) -> list[Sought]:
        """What counts for the score of an event."""
        return [*self.finding, *self.ordering]

    @property
    def sought(self) -> list[Sought]:
        """All that is sought, in the order of their numbers."""
        return [*self.finding, *self.ordering, *self.common]

    @property
    def parts(self) -> "list[Part]":
        """What is ranked, part after part, until there are enough hits.

        If even the rarest word is frequent, the events that have another one come first: they are the better ones.
        """
        if not self.finding:
            return []
        found, others = any_sought(self.finding), any_sought(self.ordering)
        ordering = [self._exactly(f"({found}) AND ({to_match(sought.forms)})") for sought in self.ordering]
        if not self.is_frequent:
            return [Part(ordering, self._exactly(found) if self.required or self.excluded else None)]
        with_none = Part([], self._exactly(f"({found}) NOT ({others})" if others else found), is_frequent=True)
        return [Part(ordering, is_frequent=True), with_none] if others else [with_none]

    def _exactly(self, expression: str) -> str:
        """Return an expression for those of its events that have what is required, and nothing that is excluded."""
        expression = both(expression, self.required)
        return f"({expression}) NOT ({self.excluded})" if self.excluded else expression

    @property
    def is_frequent(self) -> bool:
        """Whether more events have the rarest word than are ranked."""
        return bool(self.finding) and self.finding[0].events > MOST_EVENTS

    @property
    def has_parts(self) -> bool:
        """Whether parts of words would find more events."""
        return any(sought.is_part for sought in self.ordering)

    @property
    def wanted(self) -> list[Wanted]:
        """What is marked in a snippet; rare words count most."""
        return [Wanted(sought.forms, rarity) for sought, rarity in zip(self.sought, self.rarities, strict=True)]

    def lacking(self, found: int, marked: Collection[int]) -> list[str]:
        """Return the typed terms that a ranked event lacks, though it may have parts of them.

        Args:
            found: a bit for each thing that says its score.
            marked: the numbers of what is in its text.
        """
        asked = {sought.typed for sought in self.sought} | self.unknown
        common = len(self.ranking)
        had = {
            sought.typed
            for number, sought in enumerate(self.sought)
            if not sought.is_part and (found >> number & 1 if number < common else number in marked)
        }
        return [self.typed[number] for number in sorted(asked - had)]


def plan(connection: sqlite3.Connection, query: Query, *, in_parts: bool = False) -> Plan:
    """Return how the best hits of a query are found.

    Args:
        connection: reads the index.
        query: the words.
        in_parts: whether parts of a typed word, such as ``parse_http_url``, find events by themselves, rather than say
            which of those that are found come first.
    """
    groups = _without_stop_words(query.groups)
    events, words = connection.execute("SELECT events, words FROM totals").fetchone()
    instead: dict[str, list[str]] = {}
    found: dict[tuple[Form, ...], Sought] = {}
    known: set[int] = set()
    for number, group in enumerate(groups):
        for forms, is_part in _forms(group):
            guessed = None if _is_exact(group) or number >= _GUESSED else instead
            sought = _sought(connection, number, forms, guessed, is_part=is_part)
            if sought is not None:
                known.add(number)
                found.setdefault(sought.forms, sought)
    by_rarity = sorted(found.values(), key=lambda sought: sought.events)[:_MOST]
    finding, ordering = _divided([each for each in by_rarity if in_parts or not each.is_part] or by_rarity)
    ordering += [each for each in by_rarity if each not in finding and each not in ordering]
    ordering, common = _counting(
        ordering, most=max(MOST_EVENTS, events // _COMMON), least=_ALWAYS_RANKED - len(finding)
    )
    required = [f"({any_of(group)})" for group in groups if _is_exact(group)]
    return Plan(
        finding=finding,
        ordering=ordering,
        common=common,
        rarities=[_rarity(min(sought.events, events), events) for sought in (*finding, *ordering, *common)],
        typed=[" OR ".join(term.typed for term in group) for group in groups],
        unknown=frozenset(range(len(groups))) - known,
        instead=instead,
        required=" AND ".join(required) or None,
        excluded=any_of(query.excluded) or None,
        events=events,
        usual=words / events if events else 1.0,
    )


def _is_exact(group: Sequence[Term]) -> bool:
    return len(group) > 1 or group[0].is_exact


def _without_stop_words(groups: Sequence[Sequence[Term]]) -> Sequence[Sequence[Term]]:
    """Return groups without those of a stop word, unless there are no others."""
    others = [group for group in groups if _is_exact(group) or not _is_stop_word(group[0])]
    return others or groups


def _is_stop_word(term: Term) -> bool:
    return not term.is_prefix and len(term.phrases[0]) == 1 and term.phrases[0][0] in STOP_WORDS


def _forms(group: Sequence[Term]) -> Iterator[tuple[tuple[Form, ...], bool]]:
    """Yield what makes an event a hit for a group, each as several forms, and whether it is only a part of a word.

    A word of several parts, such as ``parse_http_url`` or a path, is sought as a whole, in any spelling. In a script
    without spaces, nothing tells what is a word, so pairs of characters are sought.
    """
    if _is_exact(group):
        yield tuple(Form(phrase, term.is_prefix) for term in group for phrase in term.phrases), False
        return
    term = group[0]
    parts = list(dict.fromkeys(part for phrase in term.phrases for part in _parts(phrase)))
    has_words = len(parts) > 1 and not any(map(is_single, term.phrases[0]))
    if has_words:
        whole = dict.fromkeys((*term.phrases, ("".join(term.phrases[-1]),)))
        yield tuple(Form(phrase, term.is_prefix) for phrase in whole), False
        parts = [part for part in parts if part not in whole and len(part[0]) > 1 and part[0] not in STOP_WORDS]
    for part in parts:
        yield (Form(part, term.is_prefix and part == parts[-1]),), has_words


def _parts(phrase: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words of a phrase; characters that are words by themselves in overlapping pairs."""
    if len(phrase) == 1:
        yield (phrase[0],)
        return
    last: str | None = None
    alone = False
    for word in phrase:
        if not is_single(word):
            if last is not None and alone:
                yield (last,)
            yield (word,)
            last = None
            continue
        if last is not None:
            yield (last, word)
        last, alone = word, last is None
    if last is not None and alone:
        yield (last,)


def _sought(
    connection: sqlite3.Connection,
    number: int,
    forms: Sequence[Form],
    instead: dict[str, list[str]] | None,
    *,
    is_part: bool,
) -> Sought | None:
    """Return what is sought for forms; ``None`` if no event has any.

    Args:
        connection: reads the index.
        number: which of the typed terms they are of.
        forms: the forms.
        instead: gets what is sought instead of an unknown word; ``None`` if nothing else may be.
        is_part: whether they are only a part of a typed word.
    """
    counts = {form: _events(connection, form) for form in forms}
    if instead is not None and len(forms) == 1:
        (form,) = forms
        counts |= {other: _events(connection, other) for other in _inflected(form, counts[form])}
        if not counts[form] and len(form.words) == 1 and (near := vocabulary.nearest(connection, form.words[0])):
            instead[form.words[0]] = near
            counts |= {Form((word,)): vocabulary.events_with(connection, word) for word in near}
    had = tuple(form for form, events in counts.items() if events)
    return Sought(number, had, sum(counts.values()), is_part) if had else None


def _events(connection: sqlite3.Connection, form: Form) -> int:
    """Return how many events have a form, or more: for a phrase, how many have its rarest word."""
    *whole, last = form.words
    counts = [vocabulary.events_with(connection, word) for word in whole]
    of_last = vocabulary.events_with_prefix if form.is_prefix else vocabulary.events_with
    return min([*counts, of_last(connection, last)])


def _inflected(form: Form, events: int) -> Iterator[Form]:
    """Yield the beginning of a rare word, which other forms of the same word have too."""
    (word, *rest), is_prefix = form
    if events < _RARE and not rest and not is_prefix and word.isalpha() and len(word) - _ENDING >= _SHORTEST_BEGINNING:
        yield Form((word[:-_ENDING],), is_prefix=True)


def _divided(by_rarity: list[Sought]) -> tuple[list[Sought], list[Sought]]:
    """Return the rarest, which find events, and the others."""
    events = 0
    for number, sought in enumerate(by_rarity):
        events += sought.events
        if number and events > MOST_EVENTS:
            return by_rarity[:number], by_rarity[number:]
    return by_rarity, []


def _counting(ordering: Sequence[Sought], most: int, least: int) -> tuple[list[Sought], list[Sought]]:
    """Return what counts for the order of hits, at least so many if there are, and what too many events have."""
    counts = [number < least or sought.events <= most for number, sought in enumerate(ordering)]
    parted = zip(ordering, counts, strict=True)
    return list(compress(ordering, counts)), [sought for sought, is_counted in parted if not is_counted]


def _rarity(events: int, total: int) -> float:
    return log(1 + (total - events + 0.5) / (events + 0.5))


def any_sought(sought: Iterable[Sought]) -> str:
    """Return FTS5's expression for events that have any of some words."""
    return to_match(form for each in sought for form in each.forms)


def to_match(forms: Iterable[Form]) -> str:
    """Return FTS5's expression for events that have any of some forms."""
    return " OR ".join(f'"{" ".join(form.words)}"{" *" if form.is_prefix else ""}' for form in forms)
