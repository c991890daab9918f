"""The words of the index and how many events have each: how rare a word is, and which known words are near one.

FTS5 knows this of each volume only. Rarity must be that of the whole index, or the order of hits would depend on where
a volume ends. And to read the words of all volumes takes longer than the rest of a search. So a table has the words of
all full volumes, and the one that is being filled is asked itself: a view is both. To count the words of each event
would take as long as all else that the index does with it; FTS5 says what a volume has in 7 us an event.

Hashes, numbers and the like are not counted: they would be most of the table, and are rare anyway.
"""

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from reeld.search.words import may_have_word_of

# How FTS5's tokenizer `ascii` divides what the index gives it: letters, digits, and all that is not ASCII. It says what
# is none of these, as in :mod:`reeld.search.marks`.
_TOKEN = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")
# Each byte of a text as a one if it is in a word, and as a zero.
_MARKS = bytes(chr(byte).isalnum() or not chr(byte).isascii() for byte in range(256))
_COUNTED = re.compile(r"[^0-9]{1,40}[0-9]{0,4}|[0-9]{1,4}")
# The same in SQL, where a word is also none of those that we generate, which begin with this character.
OWN = "\x80"
_IS_COUNTED = f"""
    term NOT GLOB '*[0-9][^0-9]*' AND term NOT GLOB '*[0-9][0-9][0-9][0-9][0-9]*'
    AND length(rtrim(term, '0123456789')) <= 40 AND substr(term, 1, 1) <> char({ord(OWN)})
"""
# In a text that is prepared for the index: words that are not counted, but for numbers.
_LETTER = r"[^\x00-@\[-`{-\x7f]"
_LONGEST = 40
_WITH_DIGITS = re.compile(rf"[0-9](?:{_LETTER}|[0-9]{{4}}(?<={_LETTER}.{{5}}))")
_LONG = re.compile(rf"{_LETTER}{{{_LONGEST + 1}}}")
# The most words that are looked through for those with some letters, which takes 20 ms.
_LOOKED_THROUGH = 200_000
# From so many letters on, a typing mistake is looked for, and two of them.
_ONE_MISTAKE, _TWO_MISTAKES = 4, 8
# The most known words that stand for an unknown one.
_NEAREST = 3
# The greatest character, so that a range has all words with a prefix.
LAST = "\U0010ffff"


def create(connection: sqlite3.Connection) -> None:
    """Create the table of the words of full volumes."""
    connection.execute("CREATE TABLE settled (word TEXT PRIMARY KEY, events INTEGER NOT NULL) STRICT, WITHOUT ROWID")
    # How many words it had when a volume was last full: to count them takes 10 ms for a million.
    connection.execute("CREATE TABLE settled_words (number INTEGER NOT NULL) STRICT")
    connection.execute("INSERT INTO settled_words VALUES (0)")


def watch(connection: sqlite3.Connection, counts: str) -> None:
    """Let the vocabulary have the words of the volume that is being filled.

    Args:
        connection: writes the index.
        counts: the table with its words.
    """
    connection.execute("DROP VIEW IF EXISTS vocabulary")
    connection.execute(
        "CREATE VIEW vocabulary AS SELECT word, events FROM settled"  # noqa: S608 - ours
        f" UNION ALL SELECT term, doc FROM {counts} WHERE {_IS_COUNTED}"
    )


def settle(connection: sqlite3.Connection, counts: str) -> None:
    """Take over the words of a volume that is full."""
    connection.execute(
        f"INSERT INTO settled SELECT term, doc FROM {counts} WHERE {_IS_COUNTED}"  # noqa: S608 - ours
        " ON CONFLICT (word) DO UPDATE SET events = events + excluded.events"
    )
    connection.execute("UPDATE settled_words SET number = (SELECT count(*) FROM settled)")


def tokens(text: str) -> list[str]:
    """Return the words of a text that is prepared for the index, as FTS5 stores them."""
    return _TOKEN.findall(text.lower() if text.isascii() else text)


def length(text: str) -> int:
    """Return how many words a text has that is prepared for the index: of :func:`tokens`, in a tenth of the time."""
    marks = int.from_bytes(text.encode().translate(_MARKS), "little")
    return (marks ^ marks << 8).bit_count() >> 1  # a bit where each word begins, and behind its end


def is_counted(word: str) -> bool:
    """Return whether the table says how many events have a word."""
    return _COUNTED.fullmatch(word) is not None


def are_counted(text: str) -> bool:
    """Return whether the table counts all words of a text that is prepared for the index, but for numbers."""
    if _WITH_DIGITS.search(text) is not None:
        return False
    return not may_have_word_of(_LONGEST + 1, text) or _LONG.search(text) is None


def with_pieces(connection: sqlite3.Connection, pieces: Sequence[str], most: int) -> list[str] | None:
    """Return the words of full volumes that have pieces of ASCII one behind the other, without underscores.

    ``None`` if there are more than some, or too many words to look through.
    """
    (number,) = connection.execute("SELECT number FROM settled_words").fetchone()
    if number > _LOOKED_THROUGH:
        return None
    query = "SELECT word FROM settled WHERE word LIKE ? LIMIT ?"
    found = [word for (word,) in connection.execute(query, (f"%{'%'.join(pieces)}%", most + 1))]
    return found if len(found) <= most else None


def add(connection: sqlite3.Connection, counts: Mapping[str, int]) -> None:
    """Add to the numbers of events of full volumes that have words."""
    connection.executemany(
        "INSERT INTO settled VALUES (?, ?) ON CONFLICT (word) DO UPDATE SET events = events + excluded.events",
        ((word, events) for word, events in counts.items() if is_counted(word)),
    )


def remove(connection: sqlite3.Connection, counts: Mapping[str, int]) -> None:
    """Subtract from the numbers of events of full volumes that have words; a word that none has is forgotten."""
    connection.executemany(
        "UPDATE settled SET events = events - ? WHERE word = ?", ((events, word) for word, events in counts.items())
    )
    connection.executemany("DELETE FROM settled WHERE word = ? AND events <= 0", ((word,) for word in counts))


def events_with(connection: sqlite3.Connection, word: str) -> int:
    """Return how many events have a word; 1 if it is not counted."""
    if not is_counted(word):
        return 1
    query = "SELECT coalesce(sum(events), 0) FROM vocabulary WHERE word = ?"
    return int(connection.execute(query, (word,)).fetchone()[0])


def events_with_prefix(connection: sqlite3.Connection, prefix: str) -> int:
    """Return how many events have a word with a prefix; an event with two of them counts twice."""
    query = "SELECT coalesce(sum(events), 0) FROM vocabulary WHERE word >= ? AND word <= ?"
    return int(connection.execute(query, (prefix, prefix + LAST)).fetchone()[0])


def nearest(connection: sqlite3.Connection, word: str) -> list[str]:
    """Return the known words that somebody may have meant with an unknown one, the likeliest first.

    They begin with the same letter, and differ by one mistake, or by two in a long word. A mistake is a letter too
    many, one that is missing, a wrong one, or two in the wrong order.
    """
    if len(word) < _ONE_MISTAKE or not word.isalpha():
        return []
    most = 2 if len(word) >= _TWO_MISTAKES else 1
    found = sorted(
        (distance, -events, known)
        for known, events in _similar(connection, word, most)
        if (distance := mistakes(word, known, most)) <= most
    )
    return [known for distance, _, known in found if distance == found[0][0]][:_NEAREST]


def _similar(connection: sqlite3.Connection, word: str, most: int) -> Iterable[tuple[str, int]]:
    """Return words with the same first letter, about the same length, and a piece in common.

    So few mistakes leave one of so many pieces as it was. To compare all words of a letter would take 100 ms.
    """
    cuts = [len(word) * number // (most + 1) for number in range(most + 2)]
    pieces = [word[begin:end] for begin, end in pairwise(cuts)]
    # Two letters in the wrong order may be on both sides of a cut.
    pieces[1:] = [piece[1:] or piece for piece in pieces[1:]]
    # The first piece is one that many words have; it must be at the beginning.
    conditions = ["word GLOB ? || '*'", *("instr(word, ?)" for _ in pieces[1:])]
    pieced = " OR ".join(conditions)
    query = (
        "SELECT word, sum(events) FROM vocabulary"  # noqa: S608 - ours
        f" WHERE word >= ? AND word <= ? AND length(word) BETWEEN ? AND ? AND ({pieced}) GROUP BY word"
    )
    return connection.execute(query, (word[0], word[0] + LAST, len(word) - most, len(word) + most, *pieces)).fetchall()


def mistakes(one: str, other: str, most: int) -> int:
    """Return by how many mistakes two words differ; a number above ``most`` may be too small."""
    earlier: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, its in enumerate(other, 1):
            best = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != its))
            if row > 1 and column > 1 and (letter, one[row - 2]) == (other[column - 2], its):
                best = min(best, earlier[column - 2] + 1)
            now.append(best)
        if min(now) > most:
            return most + 1
        earlier, last = last, now
    return last[-1]
