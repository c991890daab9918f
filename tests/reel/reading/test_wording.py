"""Text and times as a terminal shows them; no text can control the terminal."""

import sys
import time
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.reading.wording import (
    age,
    cells,
    cut,
    cut_front,
    duration,
    flat,
    full_time,
    pad,
    safe,
    short_time,
    size,
    wrap,
)

# 2026-11-21 14:03:22.005 UTC
MOMENT = 1_795_269_802_005


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain é 日本 😀", "plain é 日本 😀"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("one\ntwo\rthree", r"one\ntwo\rthree"),
        ("tab\tstays", "tab\tstays"),
        ("\x7f\x80\x9b", r"\x7f\x80\x9b"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
    ],
)
def test_safe_escapes_control_characters(text: str, expected: str) -> None:
    """A control character becomes its escape."""
    assert expected == safe(text)


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    """No C0 except the tab, no DEL and no C1 is left, and a second time changes nothing."""
    shown = safe(text)

    assert not [char for char in shown if (char < " " and char != "\t") or "\x7f" <= char <= "\x9f"]
    assert shown == safe(shown)


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0), ("abc", 3), ("é", 1), ("e\u0301", 1), ("日本", 4), ("😀", 2), ("a\u200db", 2)]
)
def test_cells_are_counted_as_terminals_do(text: str, expected: int) -> None:
    """Wide characters take two columns, combining ones none."""
    assert expected == cells(text)


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("\x1bab", 6, r"\x1bab"),
        ("\x1babc", 6, r"\x1ba…"),
    ],
)
def test_cut_ends_in_an_ellipsis(text: str, width: int, expected: str) -> None:
    """A text that is too wide ends in an ellipsis and fits."""
    assert expected == cut(text, width)


def test_pad_counts_columns() -> None:
    """A wide character needs one blank less."""
    assert "日   " == pad("日", 5)


def test_flat_puts_a_text_on_one_line() -> None:
    """Line breaks become blanks, and only the beginning is used."""
    assert "one two" == flat("one\n\n  two three", 10)


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        pytest.param("", 10, [""], id="empty"),
        pytest.param("one two three", 8, ["one two", "three"], id="at a blank"),
        pytest.param("one two", 7, ["one two"], id="just fits"),
        pytest.param("abcdefghij", 4, ["abcd", "efgh", "ij"], id="a long word"),
        pytest.param("  - one two", 8, ["  - one", "  two"], id="indented"),
        pytest.param("a\n\nb", 8, ["a", "", "b"], id="own line breaks"),
        pytest.param("a\r\nb", 8, ["a", "b"], id="DOS line breaks"),
        pytest.param("日本語 日本語", 7, ["日本語", "日本語"], id="wide"),
        pytest.param("one two   ", 7, ["one two"], id="trailing blanks"),
        pytest.param("\tx", 8, ["    x"], id="a tab"),
        pytest.param("日日", 1, ["日", "日"], id="no room at all"),
        pytest.param("one two three", None, ["one two three"], id="no terminal"),
        pytest.param("\tx \x1b", None, ["\tx \\x1b"], id="no terminal, a tab and an escape"),
    ],
)
def test_wrap_breaks_at_blanks(text: str, width: int | None, expected: list[str]) -> None:
    """Lines break at blanks if possible, and keep their indentation."""
    assert expected == list(wrap(text, width))


@given(st.text(st.sampled_from("ab 日\u0301\t\n😀\x1b")), st.integers(2, 12))
def test_wrapped_lines_fit_and_lose_nothing_but_blanks(text: str, width: int) -> None:
    """Every line fits, and everything except blanks is still there, in order."""
    lines = list(wrap(text, width))

    assert all(cells(line) <= width for line in lines)
    assert "".join(safe(text.replace("\n", "")).split()) == "".join("".join(lines).split())


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("short", 5, "short"),
        ("a longer one", 5, "… one"),
        ("日本語です", 10, "日本語です"),
        ("日本語です", 7, "…語です"),
        ("x" * 5000, 3, "…xx"),
        ("ab\x1b", 6, r"ab\x1b"),
        ("abc\x1b", 6, r"…c\x1b"),
    ],
)
def test_cut_front_begins_with_an_ellipsis(text: str, width: int, expected: str) -> None:
    """A text that is too wide loses its beginning."""
    assert expected == cut_front(text, width)


def test_cut_front_reads_a_long_text_once() -> None:
    """The width of a character is looked up about once, even in a text that is not ASCII."""
    calls = Counter[str]()
    sys.setprofile(lambda frame, what, _: calls.update([f"{what} {frame.f_code.co_name}"]))
    try:
        shown = cut_front("日" * 1000, 7)
    finally:
        sys.setprofile(None)

    assert "…日日日" == shown
    assert 1000 <= calls["call _cell"] <= 1010


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The local time zone is UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("utc")
@pytest.mark.parametrize(
    ("later", "expected"), [(60, "14:03:22"), (5 * 86400, "11-21 14:03"), (200 * 86400, "2026-11-21")]
)
def test_short_time(later: int, expected: str) -> None:
    """It is the time of day today, the day and the time this year, and otherwise the date."""
    assert expected == short_time(MOMENT, MOMENT / 1000 + later)


def test_full_time_is_utc() -> None:
    """Programs get ISO 8601 in UTC."""
    assert "2026-11-21T14:03:22.005Z" == full_time(MOMENT)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.4, "0s"), (59, "59s"), (61, "1m 1s"), (3600, "1h 0m"), (90061, "1d 1h")],
)
def test_duration_has_two_units(seconds: float, expected: str) -> None:
    """A duration is shown in its two largest units."""
    assert expected == duration(seconds)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "now"),
        (0, "now"),
        (59, "59s"),
        (61, "1m"),
        (7200, "2h"),
        (86400 * 29, "29d"),
        (86400 * 59, "1mo"),
        (86400 * 800, "2y"),
    ],
)
def test_age_has_one_unit(seconds: int, expected: str) -> None:
    """An age is short; a time that has not come yet counts as now."""
    assert expected == age(1_000_000_000, now=1_000_000 + seconds)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (73_728, "74 kB"),
        (6_400_000, "6.4 MB"),
        (79e15, "79000 TB"),
    ],
)
def test_size_in_its_largest_unit(number: int, expected: str) -> None:
    """A small number of large units has a digit after the point."""
    assert expected == size(number)
