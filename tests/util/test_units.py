"""Quantities, counts and tables as people read them."""

import pytest

from gpucast.util.gpu_shares import device
from gpucast.util.tables import table
from gpucast.util.units import interval, long_interval, p_value, quantity


def test_a_number_without_unit_is_no_time() -> None:
    assert quantity(2.5, "") == "2.5"
    assert quantity(0.71234, "") == "0.7123"
    assert quantity(1e5, "") == "1e+05"
    assert quantity(2.5, "s") == "2.5 s"
    assert interval((1.5, 3.0), "") == "1.5 ... 3"


def test_both_ends_of_a_long_interval_have_the_unit_of_the_longer() -> None:
    assert long_interval(41.9 * 3600, 2.64 * 86400) == "1.75 d ... 2.64 d"
    assert long_interval(0.5, 100) == "0.5 s ... 100 s"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.7234, "p = 0.72"), (1.13e-7, "p = 1.1e-07"), (0.0, "p < 1e-16"), (3e-200, "p < 1e-16")],
)
def test_a_probability_is_never_said_to_be_zero(value: float, text: str) -> None:
    assert p_value(value) == text


def test_no_line_ends_in_blanks_though_the_last_column_is_empty() -> None:
    lines = table(["n", "GPUs", ""], [[8, 2, ""], [100, None, ""]], "rrl").split("\n")
    assert lines == ["  n  GPUs", "---  ----", "  8     2", "100     -"]


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_stand_right() -> None:
    lines = table(["name", "n"], [["a", 1000], ["longer", 2]]).split("\n")
    assert lines == ["name       n", "------  ----", "a       1000", "longer     2"]


def test_gpus_are_cores_where_there_are_no_gpus() -> None:
    assert device("native").counted(1) == "1 GPU"
    assert device("remote").counted(4) == "4 GPUs"
    assert device(None).hours == "GPU hours"
    assert device("host").counted(1) == "1 core"
    assert (device("host").counted(4), device("host").hours) == ("4 cores", "core hours")
    assert device("host", 1) == device("host")


def test_runs_that_are_confined_to_several_cores_count_groups_of_them() -> None:
    assert device("host", 8).counted(1) == "1 group of 8 cores"
    assert device("host", 8).counted(2) == "2 groups of 8 cores"
    assert device("host", 8).hours == "hours of 8 cores"
    assert device("native", 8).counted(2) == "2 GPUs"
