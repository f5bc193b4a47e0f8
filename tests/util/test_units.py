"""Quantities as text."""

from gpucast.util.units import interval, quantity


def test_a_number_without_unit_is_no_time() -> None:
    assert quantity(2.5, "") == "2.5"
    assert quantity(0.71234, "") == "0.7123"
    assert quantity(1e5, "") == "1e+05"
    assert quantity(2.5, "s") == "2.5 s"
    assert interval((1.5, 3.0), "") == "1.5 ... 3"
