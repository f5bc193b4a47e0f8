"""Quantities as text."""

from gpucast.util.units import interval, long_interval, quantity


def test_a_number_without_unit_is_no_time() -> None:
    assert quantity(2.5, "") == "2.5"
    assert quantity(0.71234, "") == "0.7123"
    assert quantity(1e5, "") == "1e+05"
    assert quantity(2.5, "s") == "2.5 s"
    assert interval((1.5, 3.0), "") == "1.5 ... 3"


def test_both_ends_of_a_long_interval_have_the_unit_of_the_longer() -> None:
    assert long_interval(41.9 * 3600, 2.64 * 86400) == "1.75 d ... 2.64 d"
    assert long_interval(0.5, 100) == "0.5 s ... 100 s"
