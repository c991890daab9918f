"""Short forms of long names, as git has them of hashes: the tool, and eight digits of the conversation's id.

``claude-code/6b23c0c6`` stands for ``claude-code/6b23c0c6-77b1-4d25-bc34-9ea864913c3b``. Ids that begin with the time
are alike at their beginning, so the digits are their last ones. What is stored is always the whole name.
"""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The least characters of the digits of a form.
LEAST = 8
# The least length of a word with digits that nobody typed.
_GENERATED = 16
_UUID_LENGTH, _DASHES, _VERSION = 36, (8, 13, 18, 23), 14
# The versions of UUIDs that begin with the time. Version 1 does, too, but with the digits of it that change fastest.
_BY_TIME = "67"
_HEX = "0123456789abcdefABCDEF"


def digits_of(form: str) -> str:
    """Return the digits of a form: what is behind its last slash; empty if they are too few for a form."""
    digits = form.rpartition("/")[2]
    return digits if len(digits) >= LEAST else ""


def stands_for(form: str, name: str) -> bool:
    """Return whether a form stands for a name, which has an id.

    Below the head of the form, the name is one part that begins with its digits, or it ends with them. A form without
    a head is about every tool.
    """
    digits = digits_of(form)
    head = form[: len(form) - len(digits)] or name[: name.find("/") + 1]
    if not digits or not name.startswith(head) or not any(map(_is_generated, name.split("/"))):
        return False
    rest = name[len(head) :]
    return rest.endswith(digits) or (rest.startswith(digits) and "/" not in rest)


def shortest(names: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Return the shortest form of each name that stands for no other one; the name itself if it has no shorter form.

    Args:
        names: the names.
        others: the names that may be meant as well; these may be among them.
    """
    alike: dict[str, list[str]] = {}
    for other in others:
        last = other[other.rfind("/") + 1 :]
        for end in {last[:LEAST], last[-LEAST:]}:
            alike.setdefault(end, []).append(other)

    def is_only(form: str, name: str) -> bool:
        digits = digits_of(form)
        rivals = (other for end in {digits[:LEAST], digits[-LEAST:]} for other in alike.get(end, ()))
        return not any(other == form or stands_for(form, other) for other in rivals if other != name)

    return {name: next((form for form in short_forms(name) if is_only(form, name)), name) for name in names}


def short_forms(name: str) -> Iterator[str]:
    """Yield the forms of a name, the shortest first; none of a name that somebody may have typed."""
    tool, slash, rest = name.partition("/")
    head, (*above, last) = (f"{tool}/", rest.split("/")) if slash else ("", [tool])
    is_own, is_below = _is_generated(last), any(map(_is_generated, above))
    if not (is_own or is_below) or len(last) < LEAST:
        return
    begins = not above and _is_uuid(last) and last[_VERSION] not in _BY_TIME
    for length in range(LEAST if is_own else len(last), len(last) + bool(above)):
        for digits in (last[:length], last[-length:])[not begins :]:
            if digits[0].isalnum() and digits[-1].isalnum():
                yield head + digits


def _is_generated(part: str) -> bool:
    """Return whether a part of a name is an id that nobody typed."""
    if _is_uuid(part[:_UUID_LENGTH]):
        return True
    word = max(part.replace("-", "_").replace(".", "_").split("_"), key=len)
    return len(word) >= _GENERATED and any(map(str.isdigit, word))


def _is_uuid(text: str) -> bool:
    return (
        len(text) == _UUID_LENGTH
        and all(text[place] == "-" for place in _DASHES)
        and not text.replace("-", "").strip(_HEX)
    )
