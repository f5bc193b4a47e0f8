"""Tables of plain text."""

from __future__ import annotations

from gpucast.util.tables import table


def test_no_line_ends_in_blanks_though_the_last_column_is_empty() -> None:
    lines = table(["n", "GPUs", ""], [[8, 2, ""], [100, None, ""]], "rrl").split("\n")
    assert lines == ["  n  GPUs", "---  ----", "  8     2", "100     -"]


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_stand_right() -> None:
    lines = table(["name", "n"], [["a", 1000], ["longer", 2]]).split("\n")
    assert lines == ["name       n", "------  ----", "a       1000", "longer     2"]
