r"""Names: letters, digits and underscores in a row. Many a pattern matches only within one, such as `/get\w+Name/`.

The trigrams of such a pattern may be in half of all events, where no name has them all. The vocabulary says which names
do: each is a word there without its underscores, or in one. An event with a name of which that is not true is marked.
"""

import re
from collections.abc import Sequence

from reeld.search import vocabulary
from reeld.search.words import Indexed, has_encoded

# The generated word of an event with a name that the vocabulary may lack.
LACKED = f"{vocabulary.OWN}n"
# A name with underscores: of letters of ASCII, and what a pattern takes for one of them.
_LETTER = "[0-9A-Za-z\u0130\u017f\u212a]"
_DIVIDED = re.compile(f"(?<!{_LETTER}){_LETTER}++(?:_++{_LETTER}++)+")
# What stands for a part of a name in an expression, or for a place in one, and how often it is there.
_SET = r"\[(?:\\[dw]|0-9|[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9A-Za-z_])+\]"
_PART = re.compile(
    rf"(?:(?P<letter>[0-9A-Za-z_])|\\[dwbB]|{_SET})(?:(?P<repeated>[*+?]|\{{(?P<least>[0-9]+)(?:,[0-9]*)?\}})\??)?"
)
# The fewest letters that tell names apart, and the most pieces that are looked for.
_TELLING, _MOST = 3, 8


def are_lacked(text: str, prepared: Indexed) -> bool:
    """Return whether the vocabulary may lack a name of a text, as it is prepared for the index.

    Numbers are no names.
    """
    if has_encoded(text) or not (vocabulary.are_counted(prepared.words) and vocabulary.are_counted(prepared.joins)):
        return True
    if "_" not in text:
        return False
    joins = frozenset(prepared.joins.split())
    return any(name.replace("_", "").lower() not in joins for name in _DIVIDED.findall(text))


def pieces_of(expression: str) -> Sequence[str]:
    """Return what every name in which an expression of RE2 matches has, one behind the other, without underscores.

    Nothing, if it may match anything else than a part of a name, or nearly every name.
    """
    pieces, at = [""], 0
    while at < len(expression):
        part = _PART.match(expression, at)
        if part is None:
            return ()
        at = part.end()
        if part["letter"] == "_":
            continue
        if part["letter"] is not None and int(part["least"] or part["repeated"] not in ("*", "?")):
            pieces[-1] += part["letter"].lower()
        if part["letter"] is None or part["repeated"] is not None:
            pieces.append("")
    found = tuple(filter(None, pieces))[:_MOST]
    is_telling = any(len(piece) >= _TELLING for piece in found) and not "".join(found).isdigit()
    return found if is_telling else ()
