"""Text and times as a terminal shows them: which characters it must not obey, how wide a text is, where it breaks.

The text of a conversation was not written by the person who reads it. It must not move the cursor, change the title or
hide what comes next, so every control character is shown as its escape, and none is sent.
"""

import time
from collections.abc import Iterator

TAB = 4
# Tags that say nothing to a person: where a conversation was imported from.
PLUMBING = ("import", "source")
_DAY = 24 * 3600
_THOUSAND, _TEN = 1000, 10
_AGES = (("y", 365 * _DAY), ("mo", 30 * _DAY), ("d", _DAY), ("h", 3600), ("m", 60), ("s", 1))
# C0 except the tab, DEL and C1; then line and paragraph separators, and what changes the direction of writing.
_CONTROLS = [*range(9), *range(10, 32), *range(127, 160)]
_MISLEADING = [0x061C, 0x200E, 0x200F, 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SHOWN = {
    **{code: f"\\x{code:02x}" for code in _CONTROLS},
    **{code: f"\\u{code:04x}" for code in _MISLEADING},
    ord("\n"): "\\n",
    ord("\r"): "\\r",
}


def safe(text: str) -> str:
    """Return a text with control characters as escapes, so that a terminal does not obey them; tabs stay."""
    return text if text.isprintable() else text.translate(_SHOWN)


def safe_lines(text: str) -> str:
    """Return a text with control characters as escapes, except for its line breaks; see :func:`safe`."""
    return "\n".join(map(safe, text.replace("\r\n", "\n").split("\n")))


def flat(text: str, limit: int = 1000) -> str:
    """Return the beginning of a text on one line."""
    return " ".join(text[:limit].split())


def cells(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(char: str) -> int:
    if char.isascii():
        return 1
    import unicodedata  # noqa: PLC0415 - most texts are ASCII

    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int) -> str:
    """Return a text as it is shown, cut if it is wider than this many columns.

    It is escaped first, because the escape of a control character is wider than the character.
    """
    text = safe(text)
    if cells(text) <= width:
        return text
    return text[: _fit(text, 0, width - 1)] + "…"


def cut_front(text: str, width: int) -> str:
    """Return a text as it is shown, without its beginning if it is wider than this many columns; see :func:`cut`."""
    text = safe(text)
    if cells(text) <= width:
        return text
    start, left = len(text), width - 1
    while (left := left - cells(text[start - 1])) >= 0:
        start -= 1
    return "…" + text[start:]


def count(number: int, noun: str) -> str:
    """Return a number of things, such as ``1 event`` or ``1,000 events``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def name_counts(names: list[str]) -> str:
    """Return the names of clients, each once, with how many there are of it."""
    numbers = {name: names.count(name) for name in dict.fromkeys(names)}
    return ", ".join(f"{name or 'unnamed'}{f' ({number})' if number > 1 else ''}" for name, number in numbers.items())


def writing(client: str | None) -> str:
    """Return what to call a draft, in the words of the editors."""
    return f"writing… ({flat(client)})" if client else "writing…"


def size(number: int) -> str:
    """Return a number of bytes in its largest unit, such as ``6.4 MB``."""
    amount, unit = float(number), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < _THOUSAND:
            break
        amount, unit = amount / _THOUSAND, larger
    return f"{amount:.1f} {unit}" if amount < _TEN and unit != "bytes" else f"{amount:.0f} {unit}"


def seq_range(first: int, last: int) -> str:
    """Return what to call some events, such as ``#3`` or ``#3-#5``."""
    return f"#{first}-#{last}" if last > first else f"#{first}"


def pad(text: str, width: int) -> str:
    """Pad a text with blanks."""
    return text + " " * (width - cells(text))


def wrap(text: str, width: int | None) -> Iterator[str]:
    """Wrap a text into lines that are safe to show.

    Args:
        text: the text; its own line breaks stay.
        width: how many columns a line may take; with ``None`` there is no limit.
    """
    for line in text.replace("\r\n", "\n").split("\n"):
        if width is None:
            yield safe(line)
        else:
            shown = safe(line.expandtabs(TAB)).rstrip(" ")
            yield from (" " * indent + shown[start:stop] for indent, start, stop in breaks(shown, max(width, 2)))


def breaks(line: str, width: int, hang: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Yield the lines of a line that is wrapped: the indentation, and where its text begins and ends.

    It breaks at blanks, and within a word only if that is too long.

    Args:
        line: the line, without blanks at its end.
        width: how many columns there are, at least two.
        hang: the indentation from the second line on; left out, that of the line itself.
    """
    # At least two columns are left, so that a wide character fits.
    most = min(width // 2, width - 2)
    start = indent = min(len(line) - len(line.lstrip(" ")), most)
    while (stop := _fit(line, start, width - indent)) < len(line):
        blank = line.rfind(" ", start, stop + 1)
        if blank > start:
            stop = blank
        yield indent, start, start + len(line[start:stop].rstrip(" "))
        while line.startswith(" ", stop):
            stop += 1
        start = stop
        indent = indent if hang is None else min(hang, most)
    yield indent, start, len(line)


def _fit(line: str, start: int, width: int) -> int:
    """Return the end of what fits, at least one character."""
    if line.isascii():
        return min(start + max(width, 1), len(line))
    end = start
    while end < len(line) and ((width := width - _cell(line[end])) >= 0 or end == start):
        end += 1
    return end


def short_time(milliseconds: int, now: float | None = None) -> str:
    """Return a time in the local time zone: the time of day if it is today, else with or only the date."""
    seconds = milliseconds / 1000
    when = time.localtime(seconds)
    today = time.localtime(now)
    if (when.tm_year, when.tm_yday) == (today.tm_year, today.tm_yday):
        return time.strftime("%H:%M:%S", when)
    if when.tm_year == today.tm_year:
        return time.strftime("%m-%d %H:%M", when)
    return time.strftime("%Y-%m-%d", when)


def age(milliseconds: int, now: float | None = None) -> str:
    """Return how long ago a time is, in its largest unit."""
    seconds = int((time.time() if now is None else now) - milliseconds / 1000)
    for unit, size in _AGES:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "now"


def full_time(milliseconds: int) -> str:
    """Return a time for programs: UTC, in ISO 8601."""
    seconds, rest = divmod(milliseconds, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03d}Z"


def utc_minute(milliseconds: int) -> str:
    """Return a time for people and models, wherever they are: UTC, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(milliseconds // 1000))


def latency(seconds: float) -> str:
    """Return a short time with two digits or three, such as ``310 us``, ``2.1 ms`` or ``14 s``."""
    amount, unit = seconds * 1e6, "us"
    for larger in ("ms", "s"):
        if amount < _THOUSAND:
            break
        amount, unit = amount / _THOUSAND, larger
    return f"{amount:.1f} {unit}" if amount < _TEN and unit != "us" else f"{amount:.0f} {unit}"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units."""
    left = int(seconds)
    parts: list[str] = []
    for unit, size in (("d", _DAY), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2]) or "0s"
