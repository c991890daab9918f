"""The benchmark prints figures in columns."""

from tests.bench.table import Line


def test_columns_of_the_benchmark() -> None:
    """The columns of short and long lines begin and end at the same places, with a gap between them."""
    longest = "longest add beside pages of 10,000, ten times"

    assert "  read                                                   1 ms  <= 2                 1.50 x  alone" == str(
        Line("read", "1 ms", "alone", 1.5, "<= 2")
    )
    assert f"  {longest}    123,456 /s  >= 0.55, aim 0.75  100.25 x  as fast as the disk" == str(
        Line(longest, "123,456 /s", "as fast as the disk", 100.25, ">= 0.55, aim 0.75")
    )
    assert f"  {longest}          2 ms" == str(Line(longest, "2 ms"))
