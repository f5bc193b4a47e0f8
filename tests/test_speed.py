"""Bounds on time; benchmarks/speed.py prints the figures."""

from __future__ import annotations

import pytest

import speed


@pytest.mark.serial
def test_fits_and_forecasts_are_as_fast_as_promised() -> None:
    before = speed.slowness()
    found = speed.measurements()
    slower = max(before, speed.slowness())  # what others do on a shared machine comes and goes
    assert [entry for entry in found if entry[1] > entry[2] * slower] == []
