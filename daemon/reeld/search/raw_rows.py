"""Which rows of the log may have the letters that a pattern needs: a condition of SQL on what is stored.

To read a text takes 10 to 50 us, most of it Python's JSON; to look whether letters are in what is stored, less than
one. The condition is true of too many rows, but never of too few. So it looks for runs of letters that are stored as
they are read. A row that has anything written in another way fulfils it.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from reeld.search.literals import Either, Every, Needed, Run
from reeld.search.volumes import Condition

# What JSON escapes only as a number, if at all, and what is not special for LIKE.
_STORED = re.compile(r"[ !#$&'()*+,.0-9:;<=>?@A-Z\[\]^_`a-z{|}~-]+")
# Numbers are shown as Python writes them: 1E5 as 100000.0, and 1e999 as inf.
_NUMBER = re.compile(r"[0-9.+einf-]*", re.IGNORECASE)
# Each of them is the other case of a letter that is not ASCII. LIKE takes an underscore for any character.
_ANY = str.maketrans(dict.fromkeys("iksIKS", "_"))
# The most runs of what must all be there.
_MOST = 4
# The fewest that have an order.
_SEVERAL = 2
# The fewest characters by which a row is told from others.
_TELLING = 2
_HAS = "(content LIKE ? OR data_json LIKE ?)"
# An escape of any character; and a NUL, behind which LIKE does not look.
_WRITTEN_DIFFERENTLY = "instr(data_json, ?) > 0 OR instr(content, ?) > 0"


def condition_of(needed: Sequence[Needed]) -> Condition | None:
    """Return what is true of a row that has all that is needed, of an event whose data is valid; ``None`` for all rows.

    Without data, the content is the whole text, in which the runs of each of these are one behind the other.
    """
    known = [condition for each in needed if (condition := _with_order(each)) is not None]
    if not known:
        return None
    found = _joined(" AND ", known)
    return Condition(f"({found.sql} OR {_WRITTEN_DIFFERENTLY})", (*found.values, "\\u", "\0"))


def _with_order(needed: Needed) -> Condition | None:
    found, parts = _condition_of(needed), [*islice(_in_order(needed), _MOST)]
    if found is None or len(parts) < _SEVERAL:
        return found
    sql = f"(content LIKE ? OR data_json IS NOT NULL AND {found.sql})"
    return Condition(sql, (f"%{'%'.join(parts)}%", *found.values))


def _in_order(needed: Needed) -> Iterator[str]:
    """Yield letters that follow one another in a text with what is needed."""
    if isinstance(needed, Run):
        yield from (letters for letters in _stored(needed.letters) if _telling(letters) >= _TELLING)
    elif isinstance(needed, Every):
        for part in needed.parts:
            yield from _in_order(part)


def _condition_of(needed: Needed) -> Condition | None:
    if isinstance(needed, Run):
        letters = max(_stored(needed.letters), key=_telling, default="")
        return None if _telling(letters) < _TELLING else Condition(_HAS, (f"%{letters}%",) * 2)
    parts = [_condition_of(part) for part in needed.parts]
    known = [part for part in parts if part is not None]
    if isinstance(needed, Either) and len(known) < len(parts):
        return None
    if not known:
        return None
    return _joined(" OR ", known) if isinstance(needed, Either) else _joined(" AND ", known[:_MOST])


def _joined(word: str, conditions: Sequence[Condition]) -> Condition:
    sql = word.join(condition.sql for condition in conditions)
    return Condition(f"({sql})", tuple(value for condition in conditions for value in condition.values))


def _telling(letters: str) -> int:
    """Return how many characters are no wildcards."""
    return len(letters) - letters.count("_")


def _stored(letters: str) -> Iterator[str]:
    """Yield the parts of a run that are stored as they are read, as LIKE takes them."""
    for part in _STORED.findall(letters):
        if not _NUMBER.fullmatch(part):
            yield part.translate(_ANY)
